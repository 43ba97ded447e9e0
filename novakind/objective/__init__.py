"""The paper's mathematics: priors, losses, heads, the von Mises-Fisher distribution, metrics. No files, no settings."""
