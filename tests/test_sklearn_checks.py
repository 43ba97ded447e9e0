"""scikit-learn's own checks of an estimator, as far as they apply to one that needs labeled and unlabeled items."""

from inspect import unwrap
from typing import Any

import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from novakind import Discoverer
from novakind.data.collection import as_labels

FEW = "it fits ten items, but a new category needs ten unlabeled ones, beside labeled ones"
WITHOUT_Y = "it fits without y, but novakind learns from known classes what a class is"
EXPECTED = {
    "check_clustering": WITHOUT_Y,
    "check_estimators_nan_inf": FEW,
    "check_fit2d_1feature": FEW,
    "check_dtype_object": "it asks for a TypeError, but what a user can mend is a UserError, which is a ValueError",
}
NAMES = (
    "check_dataframe_column_names_consistency",
    "check_get_feature_names_out_error",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_global_output_transform_pandas",
)


class HalfLabeled(Discoverer):
    """The checks label every item, so that nothing is left to discover: here only one in four keeps its label."""

    __init__ = unwrap(Discoverer.__init__)  # the types of arguments are checked in tests alone, and earlier than by fit

    def fit(self, X: Any, y: Any = None) -> Discoverer:
        if y is not None:
            y = as_labels(y).astype(object)
            y[[number for number in range(len(y)) if number % 4]] = None
        return super().fit(X, y)


QUICK = HalfLabeled(n_novel=1, epochs=1, settings={"batch": 10, "val": 0.0})


@pytest.mark.usefixtures("one_thread")
@parametrize_with_checks([QUICK], expected_failed_checks=lambda estimator: EXPECTED, xfail_strict=True)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.filterwarnings("ignore:X .* feature names")  # plain arrays after tables, and the reverse
@pytest.mark.parametrize("name", NAMES)
def test_names_of_columns(name):
    """The checks of tables, which scikit-learn keeps for its own estimators."""
    if "pandas" in name or "dataframe" in name:
        pytest.importorskip("pandas")
    getattr(estimator_checks, name)("HalfLabeled", QUICK)
