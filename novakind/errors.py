"""The one exception that novakind raises for a mistake its user can mend."""


class UserError(ValueError):
    """One sentence that names the value, the rule and the fix; the command line prints it and exits with 2."""
