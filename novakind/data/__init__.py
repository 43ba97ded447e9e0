"""Collections of items, and the way from files and arrays to the batches of a step."""
