"""The exceptions that novakind raises for what its user can mend."""


class UserError(ValueError):
    """One sentence that names the value, the rule and the fix; the command line prints it and exits with 2."""


class UnreadableError(Exception):
    """A file that cannot be decoded; the message says why."""
