"""Carried: what a person decided in the rounds before this one, as results.json holds it; a review starts from it."""

from __future__ import annotations

from typing import Any, NamedTuple


class Carried(NamedTuple):
    """Categories and items by their numbers in this run."""

    named: tuple[bool, ...]
    into: tuple[int, ...]
    """The category that each belongs to: itself, or the one that it was merged into; -1 for one that is no more."""
    different: frozenset[tuple[int, int]]
    rejected: frozenset[tuple[int, int]]
    """Items, and categories that they are not of."""
    confirmed: tuple[int, ...]

    def written(self) -> dict[str, Any]:
        """As it stands in results.json."""
        pairs = {"different": sorted(self.different), "rejected": sorted(self.rejected)}
        return {"named": list(self.named), "into": list(self.into), "confirmed": list(self.confirmed), **pairs}


def read_carried(results: dict[str, Any], items: int) -> Carried | None:
    """Of a run that goes on from another; `ValueError` where it is no such thing."""
    found = results.get("round")
    if found is None:
        return None
    count = len(results["classes"])
    try:
        named, into = tuple(map(bool, found["named"])), tuple(map(int, found["into"]))
        different = frozenset((int(one), int(other)) for one, other in found["different"])
        rejected = frozenset((int(item), int(number)) for item, number in found["rejected"])
        confirmed = tuple(map(int, found["confirmed"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"what it says of the round is of another form ({error})") from None
    numbers = {*into, *(one for pair in different for one in pair), *(number for _, number in rejected)}
    places = {*confirmed, *(item for item, _ in rejected)}
    chained = any(to >= 0 and into[to] != to for to in into if to < count)
    inside = all(-1 <= number < count for number in numbers) and all(0 <= item < items for item in places)
    if not len(named) == len(into) == count or not inside or chained:
        raise ValueError("what it says of the round does not fit its classes and items")
    return Carried(named, into, different, rejected, confirmed)
