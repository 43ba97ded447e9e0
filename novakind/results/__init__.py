"""What becomes of a finished run: the report, exports, predictions of new items."""
