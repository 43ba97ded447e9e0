"""Forms of other tools: Hugging Face's imagefolder, FiftyOne's classification folder, Label Studio's tasks; and an .npz
that lists files."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from novakind.data.manifest import IGNORED, SUGGESTED, UNLABELED, as_text, columns_of, read_table, whole_signs
from novakind.errors import UnreadableError, UserError
from novakind.given import opened, read_whole

METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
FIFTYONE, FILES = "labels.json", "data"
TASKS = "tasks.json"
SERVED = "/data/local-files/?d="  # how Label Studio addresses files of its own machine
MEDIA = ("path", "image", "video", "audio", "timeseries", "csv")  # of all that a task may hold, what names a file


class Entry(NamedTuple):
    """An item as such a form has it: a file as seen from the form's folder, or a text of its own."""

    name: str
    label: str
    """"" is unlabeled: what a machine suggested is no label."""
    text: str | None = None


def is_form(given: Path) -> bool:
    """Whether a folder or a file is of one of these forms."""
    return source_of(given) is not None


def source_of(given: Path) -> Path | None:
    """The file that says what the items are, or None."""
    ending = given.suffix.lower()
    if given.is_file():
        return given if ending == ".json" or (ending == ".npz" and lists_files(given)) else None
    for name in METADATA:
        if (given / name).is_file() and {"file_name", "label"} <= set(columns_of(given / name)):
            return given / name
    if (given / FIFTYONE).is_file() and (given / FILES).is_dir():
        return given / FIFTYONE
    return given / TASKS if (given / TASKS).is_file() else None


def lists_files(given: Path) -> bool:
    """Whether an .npz file has the paths of items and not the items."""
    try:
        with zipfile.ZipFile(given) as archive:
            return "path.npy" in (names := archive.namelist()) and "X.npy" not in names
    except Exception:  # zipfile has many ways to say that it is none
        return False


def read_form(given: Path) -> tuple[Path, list[Entry]]:
    """The folder that names of files are relative to, and the items, but for those that were to be ignored."""
    file = source_of(given)
    assert file is not None
    if file.name in METADATA:
        found = list(from_metadata(file))
    elif file.suffix.lower() == ".npz":
        found = list(from_arrays(file))
    else:
        content = read_json(file)
        is_tasks = isinstance(content, list)
        if not is_tasks and not (isinstance(content, dict) and isinstance(content.get("labels"), dict)):
            raise UserError(
                f"{file} is neither a list of Label Studio's tasks nor FiftyOne's classes and labels: "
                "give a folder, a .csv or .parquet manifest, or an .npz file"
            )
        try:
            found = list(from_tasks(file, content) if is_tasks else from_fiftyone(file, content))
        except (AttributeError, TypeError, KeyError, IndexError) as error:  # tables where there should be none, or none
            raise UserError(f"{file} is not as these tools write it ({error}): write it again") from None
    if not found:
        raise UserError(f"{file} holds no item: give one that does")
    if len({entry.text is None for entry in found}) > 1:
        raise UserError(f"{file} has both files and texts for items, but a run sorts one kind: give one of them alone")
    names = [entry.name for entry in found]
    if len(set(names)) < len(names):
        twice = next(name for number, name in enumerate(names) if name in names[:number])
        raise UserError(f'{file} names "{twice}" more than once, but an item has one entry: remove the others')
    return file.parent, found


def read_json(file: Path) -> Any:
    try:
        content = read_whole(file)
        found = json.loads(content.decode("utf-8-sig", "surrogateescape"))
        return whole_signs(file, "what it says", found) if b"\\u" in content else found
    except UserError:
        raise
    except UnreadableError as error:
        raise UserError(f"{file} cannot be opened ({error}): give a readable file") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file} holds no JSON ({error}): write it again") from None


def from_metadata(file: Path) -> Iterator[Entry]:
    """One row per file: its `file_name` and `label`, and perhaps a `status`."""
    for row in read_table(file, ("file_name", "label")):
        if as_text(row.get("status")) != IGNORED:
            label = as_text(row.get("label")).strip()
            yield Entry(as_text(row.get("file_name")), "" if label == UNLABELED else label)


def from_arrays(file: Path) -> Iterator[Entry]:
    """The arrays `path` and `y`, names of classes or "", and perhaps a `status`."""
    try:
        with opened(file) as stream, np.load(stream, allow_pickle=False) as arrays:
            paths, labels = arrays["path"].tolist(), arrays["y"].tolist()
            status = arrays["status"].tolist() if "status" in arrays else [""] * len(paths)
        rows = list(zip(paths, labels, status, strict=True))
    except Exception:  # numpy, zipfile and zlib each have their own ways to say so, none of them for users
        raise UserError(f"{file} has no arrays path and y that fit, or is damaged: export it again") from None
    for path, label, said in rows:
        if said != IGNORED:
            yield Entry(str(path), "" if str(label) in (UNLABELED, "-1") else str(label))


def from_fiftyone(file: Path, content: Mapping[str, Any]) -> Iterator[Entry]:
    """The files in data/ by their names without endings: the number of a class, its name, or an object with both a
    label and attributes."""
    classes: Sequence[Any] = content.get("classes") or ()
    folder = file.parent / FILES
    endings = {one.relative_to(folder).with_suffix("").as_posix(): one for one in sorted(folder.rglob("*"))}
    for stem, target in content["labels"].items():
        told = target if isinstance(target, dict) else {"label": target}
        attributes = told.get("attributes") or {}
        status = attributes.get("status")
        if status == IGNORED:
            continue
        if stem not in endings:
            raise UserError(f'{file} has a label for "{stem}", but there is no such file in {folder}: remove it')
        label = told.get("label")
        if isinstance(label, bool) or not isinstance(label, (str, int, type(None))):
            raise UserError(
                f'{file} gives the label {label!r:.50} to "{stem}", but it is a name or the number of a class: '
                "correct it"
            )
        if isinstance(label, int) and classes:
            if not 0 <= label < len(classes):
                raise UserError(
                    f'{file} gives class {label} to "{stem}", but it has {len(classes)} classes: correct it'
                )
            label = classes[label]
        name = endings[stem].relative_to(file.parent).as_posix()
        said = attributes.get("learnt", "" if status == SUGGESTED else label)
        yield Entry(name, as_text(said))


def from_tasks(file: Path, tasks: Sequence[Any]) -> Iterator[Entry]:
    """Label Studio's tasks, as they were written for it or as it exports them: annotations are labels."""
    for number, task in enumerate(tasks):
        data = task.get("data") if isinstance(task, dict) else None
        if not isinstance(data, dict):
            raise UserError(f"{file} has no data in task {number}, as every task of Label Studio must: correct it")
        label = annotated(task)
        if data.get("status") == IGNORED and not label:
            continue
        place = next((as_text(data[key]) for key in MEDIA if data.get(key)), "")
        text = as_text(data.get("text")) if not place and data.get("text") else None
        if not place and text is None:
            raise UserError(f"{file} names neither a file nor a text in task {number}: give one as path or text")
        yield Entry(as_text(data.get("id", number)) if text is not None else local(place), label, text)


def annotated(task: Mapping[str, Any]) -> str:
    """The first choice of the last annotation that was not cancelled."""
    for annotation in reversed(task.get("annotations") or []):
        for result in annotation.get("result") or [] if not annotation.get("was_cancelled") else []:
            choices = (result.get("value") or {}).get("choices")
            if choices:
                return as_text(choices[0]).strip()
    return ""


def local(place: str) -> str:
    """A file of this machine, by Label Studio's address or by its path."""
    return unquote(place.removeprefix(SERVED)) if place.startswith(SERVED) else place
