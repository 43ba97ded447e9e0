"""gather(): from a Source to its items, divided; the same source always gives the same items in the same order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from novakind.data.collection import Collection
from novakind.data.decided import Decisions, revise
from novakind.data.embed import seen
from novakind.data.files import Watch, load, quiet
from novakind.data.paths import kind_of, root_of
from novakind.data.source import Source
from novakind.data.split import Split, hide, impose, part, unlabel
from novakind.data.truth import with_truth
from novakind.datasets import DATASETS, is_named
from novakind.encoders.front import origin_of
from novakind.errors import UserError
from novakind.modality import KINDS, Kind


def kind_for(source: Source) -> Kind:
    """The kind of data: as the source says, else as the data set or the files suggest."""
    named = DATASETS[source.data] if is_named(source.data, source.root) else None
    if source.kind:
        if source.kind not in KINDS:
            raise UserError(f"--kind {source.kind} is no kind of data: choose from {', '.join(KINDS)}")
        if named and named.kind is not KINDS[source.kind]:
            raise UserError(other_kind(source, named.kind.noun))
        return KINDS[source.kind]
    if named:
        return named.kind
    return kind_of(Path(source.data))


def other_kind(source: Source, noun: str) -> str:
    """That the data are not of the kind that was asked for."""
    return f"--kind {source.kind} is not what {source.data} holds, which is {noun}: leave it out"


def placed(source: Source) -> Source:
    """The same source with full paths, its kind and its reading, so that later commands find it from any folder."""

    def full(path: str) -> str:
        return str(Path(path).resolve()) if path and Path(path).exists() else path

    kind = kind_for(source)
    named = is_named(source.data, source.root)
    return replace(
        source,
        data=source.data if named else full(source.data),
        truth=full(source.truth),
        kind=kind.kind,
        reading=source.reading or kind.Reading(),
    )


def check_there(source: Source) -> None:
    """Refuse data that are not there, before anything is written."""
    if not source.data:
        raise UserError("no data are given: name a folder, a manifest, an .npz file or a data set after discover")
    if not is_named(source.data, source.root) and not Path(source.data).exists():
        raise UserError(
            f"{source.data} does not exist: give a folder, a .csv or .parquet manifest, an .npz file, "
            f"or the name of a data set ({', '.join(DATASETS)})"
        )


def gather(source: Source, store: Path, val: float, watch: Watch, embedding: Watch = quiet) -> tuple[Collection, Split]:
    """Load, hide, impose, unlabel, divide; then a frozen encoder, where there is one, turns the items into vectors."""
    collection, split = gather_items(source, store, val, watch)
    return seen(collection, split, source.published, embedding), split


def gather_to_look(source: Source, store: Path, val: float) -> Collection:
    """The items as a person sees them, whose digest is that of `gather`, without the work of a frozen encoder."""
    collection, split = gather_items(source, store, val, quiet)
    return collection if source.published.get("frozen") else seen(collection, split, source.published, quiet)


def gather_items(source: Source, store: Path, val: float, watch: Watch) -> tuple[Collection, Split]:
    """Load, hide, impose, unlabel, divide; then follow what a person decided about an earlier run."""
    check_there(source)
    source = placed(source)
    origin = origin_of(source.published["name"]) if source.published.get("name") else None
    by_name = is_named(source.data, source.root)
    named = DATASETS[source.data] if by_name else None
    if source.balance and not (named and named.balanced):
        raise UserError(
            f"--balance is a protocol of {' and '.join(name for name, one in DATASETS.items() if one.balanced)}, "
            f"and {source.data} is neither: leave it out"
        )
    if named:
        load_named = named.balanced if source.balance and named.balanced else named.load
        collection = load_named(source.root, source.reading, watch)
    else:
        collection = load(Path(source.data), store, source.reading, watch, KINDS[source.kind], origin)
    if type(collection.modality) is not KINDS[source.kind]:  # arrays show what they are
        raise UserError(other_kind(source, collection.modality.noun))
    if source.truth:
        collection = with_truth(collection, Path(source.truth))
    if source.known:
        collection = hide(collection, source.known, source.split_seed)
    if source.impose:
        collection = impose(collection, source.impose, source.split_seed)
    if source.labeled < 1:
        collection = unlabel(collection, source.labeled, source.split_seed)
    test = source.test or (0.2 if by_name and collection.official_test is None else 0.0)
    split = part(collection, val, test, source.split_seed, source.split)
    if not source.decisions:
        return collection, split
    return revise(collection, split, Decisions.read(Path(source.decisions)), root_of(Path(source.data)))
