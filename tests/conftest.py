"""Shapes and types in every signature are checked while the tests run."""

from jaxtyping import install_import_hook

install_import_hook("novakind", "shapes.check")
