"""Methods side by side on the same data: the plan, the board of results, its charts."""
