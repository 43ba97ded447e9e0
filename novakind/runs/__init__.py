"""The run folder, finishing a run, and Discovery: what a finished run found."""
