"""The training loop and what it needs: optimiser, set-up, pace, and the ways in which training fails."""
