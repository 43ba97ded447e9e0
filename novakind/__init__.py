"""novakind finds the new kinds in half-labeled data."""

__version__ = "0.1.0"
