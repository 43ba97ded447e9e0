"""Discoverer: novakind as a scikit-learn estimator, for arrays."""

from __future__ import annotations

import copy
import math
import numbers
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from novakind.arguments import as_array, as_seed, as_shares, check_labels, check_settings
from novakind.config import Config, preset_for, starting, starting_reading
from novakind.data.choice import choose
from novakind.data.collection import as_labels, class_values, from_arrays, known_classes, with_new
from novakind.data.embed import seen
from novakind.data.source import learnt_kind
from novakind.data.split import part
from novakind.disk import check_place, write_atomic
from novakind.encoders.front import Front
from novakind.errors import UserError, as_arguments
from novakind.modality import Kind, from_array
from novakind.model import load_model, predict, to_bytes
from novakind.progress import Reporter
from novakind.results.predict import fitting_rows
from novakind.runs.complete import frozen_first
from novakind.settings import change, plain, settings_of
from novakind.training.loop import fit
from novakind.training.unknown import as_options, settle, warning


@contextmanager
def speaking_python() -> Iterator[None]:
    """Whatever is refused within is refused in the words of Python: novakind's messages are the command line's."""
    try:
        yield
    except UserError as error:
        error.args = (as_arguments(str(error)),)
        raise


class Discoverer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Classifies the known classes and sorts unlabeled items into `n_novel` new ones.

    To scikit-learn it is a clusterer that needs y, and a transformer. It is no classifier: the number of a new category
    says nothing, so the accuracy that `score` of a classifier gives would be that of a guess, and searches and
    ensembles that are made for classifiers would take the -1 of unlabeled items for a class.

    Parameters
    ----------
    n_novel : int or str
        How many new categories to look for; "auto" or limits such as "3-20" have them counted, and it is estimated how
        many unlabeled items are of known classes.
    prior : str or sequence of float
        Their shares, e.g. (0.5, 0.25, 0.25), "uniform", or "auto": that of the preset.
    preset : str
        The settings to start from: "auto" (those of the kind of data), "default", "glyphs", "sensors", "fast", "paper".
    settings : dict, optional
        Changes to the preset, by dotted name: {"objective.kl": 4, "head": "linear", "optim.lr": 0.05}; not for what has
        an argument of its own.
    encoder : str or nn.Module
        A name, or any module that maps a batch to vectors; "auto" leaves it to the preset. What a user froze stays so.
    epochs : int
        Passes over the unlabeled items; 0 leaves it to the preset, or to the amount of data.
    random_state : int, numpy generator or None
        None makes another run each time.
    verbose : bool
        Show progress.

    Attributes
    ----------
    labels_ : ndarray
        The category of each item of X, an entry of `classes_`.
    classes_ : ndarray
        The known classes as given in y (truth values as 0 and 1), then the new ones: whole numbers that go on after the
        largest known one, or "new-1", "new-2", ... where a class is a string.
    feature_names_in_ : ndarray
        Names of the columns of X, where it is a table that has them.
    n_features_in_ : int
        How many numbers the model sees of an item; of a grey picture too, three for each pixel.
    history_ : list of dict
        The loss terms and scores of each epoch.
    estimate_ : Estimate or None
        Number, interval, share of known classes and evidence, where any of it was estimated.
    warnings_ : list of str
        What novakind noticed during training, e.g. a collapse.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, truth = make_blobs(400, 8, centers=4, random_state=0)
    >>> y = np.where(truth < 2, truth, -1)
    >>> Discoverer(n_novel=2, epochs=5, random_state=0).fit(X, y).classes_
    array([0, 1, 2, 3])
    """

    def __init__(
        self,
        n_novel: int | str = 2,
        *,
        prior: Any = "auto",
        preset: str = "auto",
        settings: dict[str, Any] | None = None,
        encoder: str | nn.Module = "auto",
        epochs: int = 0,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_novel = n_novel
        self.prior = prior
        self.preset = preset
        self.settings = settings
        self.encoder = encoder
        self.epochs = epochs
        self.random_state = random_state
        self.verbose = verbose

    @speaking_python()
    def fit(self, X: Any, y: Any = None) -> Discoverer:
        """X: vectors (N x D), pictures (uint8, N x H x H [x 3]), series (N x T x C), texts; y: strings, numbers, bools.

        Unlabeled in y are -1, None, NaN, NA, "" and masked entries, whatever its type, and the string "-1", which is
        what numpy makes of a -1 among strings.
        All randomness comes from `random_state`; the global generators of torch and numpy are left as they were.
        """
        if y is None:
            raise UserError(
                "Discoverer requires y to be passed, but the target y is None: give the known classes, and -1 for "
                "unlabeled items"
            )
        table, X, y = X, as_array(X), as_labels(y)
        kind = type(from_array(X)[1])
        published = self._published(kind, X)
        reading, config = self._settings(kind, published)
        collection = from_arrays(X, y, reading=reading)
        check_labels(collection.labels)
        validate_data(self, table, skip_check_array=True)
        split = part(collection, config.val, 0.0)
        encoder = copy.deepcopy(self.encoder) if isinstance(self.encoder, nn.Module) else None
        with Reporter(quiet=not self.verbose) as report, torch_state_restored():
            collection = seen(collection, split, published, report.embedding)
            config, self.estimate_ = settle(collection, split, config, not isinstance(self.n_novel, str), report)
            tuned = collection.origin is not None and collection.before is None
            first = partial(frozen_first, collection, split, config, report) if tuned else None
            self.model_, warnings, self.history_ = fit(collection, split, config, None, report, encoder, first)
            if collection.before and collection.origin:
                self.model_.put_behind(Front.opened(collection.origin, collection.before.modality))
        guesses = warning(self.estimate_, isinstance(self.n_novel, str))
        self.warnings_ = [as_arguments(text) for text in (*guesses, *warnings)]
        for line in self.history_:
            line |= {"warning": as_arguments(line["warning"])} if "warning" in line else {}
        card = self.model_.card
        self.classes_ = with_new(known_classes(y)[1], card.categories[card.known :])
        self.n_features_in_ = math.prod(self.model_.reads.shape)
        arrays = {"classes": self.classes_.tolist(), "dtype": self.classes_.dtype.str}
        arrays |= {"features": list(self.feature_names_in_)} if hasattr(self, "feature_names_in_") else {}
        self.model_.card = replace(self.model_.card, arrays=arrays)
        self.labels_ = self.predict(table)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The most probable of all known and new classes."""
        best = self._outputs(X)[1].argmax(1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities in the order of `classes_`."""
        return np.exp(self._outputs(X)[1])

    def transform(self, X: Any) -> np.ndarray:
        """Embeddings."""
        return self._outputs(X)[0]

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """fit(X, y).labels_"""
        return self.fit(X, y).labels_

    def save(self, path: str | Path) -> None:
        """The model in one safetensors file."""
        check_is_fitted(self, "model_")
        check_place(Path(path))
        write_atomic(Path(path), to_bytes(self.model_))

    @classmethod
    @speaking_python()
    def load(cls, path: str | Path, encoder: nn.Module | None = None) -> Discoverer:
        """A fitted Discoverer from `save`, or from a run folder."""
        file = Path(path) / "model.safetensors" if Path(path).is_dir() else Path(path)
        model = load_model(file, copy.deepcopy(encoder))
        names, known, arrays = model.card.categories, model.card.known, model.card.arrays
        loaded = cls(n_novel=len(names) - known)
        loaded.model_ = model
        loaded.classes_ = np.array(arrays["classes"], dtype=arrays["dtype"]) if arrays else class_values(names, known)
        loaded.n_features_in_ = math.prod(model.reads.shape)
        if arrays and "features" in arrays:
            loaded.feature_names_in_ = np.array(arrays["features"], dtype=object)
        return loaded

    def _published(self, kind: Kind, X: np.ndarray) -> dict[str, Any]:
        """The published encoder that looks at the items; none where a preset, or a module of the user's, is given."""
        if not isinstance(self.encoder, str | nn.Module):
            raise UserError(f"encoder={self.encoder!r} is no encoder: give a name or an nn.Module")
        given = check_settings(self.settings)
        tune = str(given.get("tune", "auto"))
        as_published = self.encoder == tune == "auto" and self.preset != "auto" and kind.trainable
        if isinstance(self.encoder, nn.Module) or as_published:
            return {}
        return choose(kind, self.encoder, tune, lambda: X)

    def _settings(self, kind: Kind, published: dict[str, Any]) -> tuple[Any, Config]:
        """How items are read, and all other settings: the preset of this kind of data with what is asked for."""
        if not isinstance(self.n_novel, numbers.Integral | str) or isinstance(self.n_novel, bool):
            raise UserError(f"n_novel={self.n_novel!r} is no whole number: give the number of new categories")
        number = as_options({"novel": self.n_novel}) if isinstance(self.n_novel, str) else {"novel": self.n_novel}
        learnt = learnt_kind(kind.kind, published)
        preset = self.preset
        if preset == "auto" and published.get("name") and learnt is kind:
            preset = "tuned"
        elif preset == "auto" and isinstance(self.encoder, nn.Module) and "learnt" in kind.presets:
            preset = "learnt"  # a module of the user's has to find out what matters
        elif learnt is kind:
            preset = preset_for(kind, preset, str(self.encoder))
        reading, config = starting_reading(kind, preset if learnt is kind else "auto"), starting(learnt, preset)
        asked = {**number, "seed": as_seed(self.random_state)}
        asked |= {"epochs": self.epochs} if self.epochs != 0 else {}
        asked |= {"prior": as_shares(self.prior)} if self.prior != "auto" else {}
        if isinstance(self.encoder, str) and self.encoder != "auto" and learnt is kind:
            asked |= {"encoder": self.encoder}
        for name, value in (asked | check_settings(self.settings)).items():
            if name in settings_of(kind.Reading):
                reading = change(reading, name, plain(value))
            else:
                config = change(config, name, plain(value))
        return reading, config

    @speaking_python()
    def _outputs(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self, "model_")
        array = as_array(X)
        if array.ndim == 2 and array.size:
            try:
                validate_data(self, X, reset=False, skip_check_array=True)
            except ValueError as error:  # other names or another number of columns
                raise UserError(str(error)) from None
        return predict(self.model_, self.model_.look(fitting_rows(array, self.model_, "X")))

    @property
    def _n_features_out(self) -> int:
        return self.model_.card.dim

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def torch_state_restored() -> AbstractContextManager[None]:
    """A training seeds torch's global generators, but those belong to whoever calls it."""
    return torch.random.fork_rng([torch.cuda.current_device()] if torch.cuda.is_available() else [])
