"""The review: the report's page with a server behind it, where a person names, merges, splits and corrects."""
