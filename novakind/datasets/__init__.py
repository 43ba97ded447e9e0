"""Benchmark data by name, in their official layouts."""
