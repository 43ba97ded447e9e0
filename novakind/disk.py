"""Writing to disk: every file is whole or absent, also after a crash, and one process at a time.

Nothing else in novakind changes a file. Each step goes through `act`, so that a test can end the process, or fill the
disk, at every one of them. What cannot be written is refused in one sentence, and what was there stays as it was. Links
that somebody has put in the place of a file are never followed.
"""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import itertools
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from novakind.errors import UserError
from novakind.given import opened

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
LONGEST = 200  # bytes of a name to which something can be added
FULL = {errno.ENOSPC, errno.EDQUOT} if hasattr(errno, "EDQUOT") else {errno.ENOSPC}
ELSEWHERE = "give another place, or make this one writable"
FIXES = dict.fromkeys(FULL, "free some space, then give the same command again") | {
    errno.ENAMETOOLONG: "give a shorter path",
    errno.EFBIG: "give a place that takes larger files",
    errno.EISDIR: "a folder is in its place, give another one",
}


class UnwritableError(UserError):
    """A file that cannot be written, in one sentence: what is so, and what can be done about it."""

    def __init__(self, fact: str, fix: str) -> None:
        super().__init__(fact, fix)
        self.fact, self.fix = fact, fix

    def __str__(self) -> str:
        return f"{self.fact}: {self.fix}"

    def or_by(self, other: str) -> UnwritableError:
        """The same for a place that nobody gave in the command: it is named otherwise."""
        return UnwritableError(self.fact, other if self.fix == ELSEWHERE else f"{self.fix}, or {other}")


def act(call: Callable[..., Any], *arguments: Any) -> Any:
    """One step that changes the disk."""
    return call(*arguments)


def step(path: Path, call: Callable[..., Any], *arguments: Any) -> Any:
    """A step towards `path`; a disk that refuses is refused in one sentence."""
    try:
        return act(call, *arguments)
    except FileExistsError:
        raise
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: Path, error: OSError) -> UnwritableError:
    fact = f"{path} cannot be written ({error.strerror or error})"
    return UnwritableError(fact, FIXES.get(error.errno or 0, ELSEWHERE))


def no_file(path: Path) -> UnwritableError:
    return UnwritableError(f"{path} is no file, and cannot be written", "remove it, or give another place")


def check_place(path: Path) -> None:
    """Refuse a place that somebody asked for where something else is than a file or a folder, or a link to such."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise no_file(path)


def check_inside(folder: Path) -> None:
    """Refuse a link in the place of a folder that belongs to a run: whoever made it chose where it leads."""
    if os.path.islink(folder):
        raise UnwritableError(f"{folder} is a link, which leads out of the run", "remove it")


class Door(io.RawIOBase):
    """A file that is written step by step."""

    def __init__(self, path: Path, flags: int, named: Path | None = None) -> None:
        self.path = named or path
        plain = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        try:
            self.number = step(self.path, os.open, path, flags | plain, 0o666)
        except FileExistsError:
            raise UnwritableError(f"{self.path} is being written by another process", "wait for it to end") from None
        if not stat.S_ISREG(os.fstat(self.number).st_mode):
            self.close()
            raise no_file(path)

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return os.lseek(self.number, offset, whence)

    def write(self, data: Any) -> int:
        return step(self.path, os.write, self.number, data)

    def truncate(self, size: int | None = None) -> int:
        step(self.path, os.ftruncate, self.number, size)
        return size or 0

    def sync(self) -> None:
        step(self.path, os.fsync, self.number)

    def close(self) -> None:
        if not self.closed:
            os.close(self.number)
        super().close()


def make_folder(folder: Path) -> None:
    """The folder and those above it, where they are not there yet."""
    if os.path.isdir(folder):
        return
    try:
        step(folder, lambda: folder.mkdir(parents=True, exist_ok=True))
    except FileExistsError:
        raise UnwritableError(f"{folder} cannot be written (a file is in its place)", ELSEWHERE) from None


@contextmanager
def locked(folder: Path, wait: bool, name: str = ".lock") -> Iterator[None]:
    """Keep other processes out of the folder; the lock goes with this process, however it ends.

    Where another process holds it: wait for that one to end, or raise BlockingIOError.
    """
    make_folder(folder)
    with Door(folder / name, os.O_RDWR | os.O_CREAT) as file:
        if fcntl is not None:
            fcntl.flock(file.number, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def csv_bytes(header: list[str], rows: Iterable[Iterable[Any]]) -> bytes:
    """A table as UTF-8 CSV."""
    buffer = io.StringIO()
    plain = csv.writer(buffer, lineterminator="\n")
    quoted = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in itertools.chain([header], map(tuple, rows)):
        # A carriage return ends a row for readers, but the writer quotes only the line ends that it writes itself.
        (quoted if any("\r" in str(cell) for cell in row) else plain).writerow(row)
    return buffer.getvalue().encode(errors="surrogateescape")


def part_of(path: Path) -> Path:
    """Where `path` is written before it takes its place; what a killed process left there is gone."""
    make_folder(path.parent)
    name = path.name if len(os.fsencode(path.name)) <= LONGEST else hashlib.sha256(os.fsencode(path.name)).hexdigest()
    part = path.with_name(f".{name}.part")
    remove(part, path)
    return part


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to: it takes the place of `path` when the block ends well, else it vanishes."""
    if os.path.isdir(path):  # Path.is_dir raises on names that are too long
        raise unwritable(path, IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path)))
    if os.path.lexists(path) and stat.S_IFMT(os.lstat(path).st_mode) in (stat.S_IFCHR, stat.S_IFBLK):
        raise no_file(path)  # who may would take the device from the machine
    part = part_of(path)
    try:
        yield part
        with Door(part, os.O_RDWR, path) as file:
            file.sync()  # the name must not outlive a crash that the contents did not
        step(path, os.replace, part, path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    sync_folder(path.parent)


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when the block ends well; else nothing has changed."""
    with replacing(path) as part, io.BufferedWriter(Door(part, NEW, path), 1 << 20) as file:
        yield file


def write_atomic(path: Path, content: bytes) -> None:
    """The file is either as it was or whole, also after a crash."""
    with writing(path) as file:
        file.write(content)


def write_csv(path: Path, header: list[str], rows: Iterable[Iterable[Any]]) -> None:
    """The same for a table, of which never more than some rows are in memory."""
    rows = iter(rows)
    with writing(path) as file:
        file.write(csv_bytes(header, []))
        while some := csv_bytes(header, itertools.islice(rows, 10_000))[len(csv_bytes(header, [])) :]:
            file.write(some)


def append(path: Path, content: bytes) -> None:
    """Add to the end of a file, all of it or nothing, and have it on disk; a crash may leave the beginning of it."""
    with Door(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as file:
        before = os.fstat(file.number).st_size
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[file.write(rest) :]
            file.sync()
        except UnwritableError:
            with suppress(UserError):
                file.truncate(before)
            raise


def cut(path: Path, size: int) -> None:
    """Keep the first `size` bytes of a file."""
    with Door(path, os.O_RDWR) as file:
        file.truncate(size)
        file.sync()


@contextmanager
def appending(path: Path) -> Iterator[BinaryIO]:
    """A file to add to; `flush` hands on what was written so far, and a crash may leave any beginning of it."""
    with io.BufferedWriter(Door(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 1 << 20) as file:
        yield file


def copy_new(source: Path, target: Path) -> None:
    """A copy with its times and rights, whole from the moment it is there; FileExistsError where something is."""
    part = part_of(target)
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    try:
        with opened(source) as reader, io.BufferedWriter(Door(part, NEW, target), 1 << 20) as file:
            shutil.copyfileobj(reader, file, 1 << 20)
        with suppress(OSError):
            shutil.copystat(source, part)
        try:
            step(target, os.link, part, target)
        except UnwritableError:  # a file system without links
            step(target, os.replace, part, target)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def link_new(source: Path, target: Path) -> None:
    """A symbolic link; FileExistsError where something is there."""
    step(target, os.symlink, source, target)


def remove(path: Path, named: Path | None = None) -> None:
    """The file is gone, if there was one."""
    if os.path.lexists(path):
        step(named or path, os.unlink, path)


def rename(path: Path, target: Path) -> None:
    """Another name for a file; nothing may be there."""
    step(target, os.rename, path, target)


def sync_folder(folder: Path) -> None:
    """Have the names in it on disk, where a folder can be opened for that."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def in_memory(size: int) -> int:
    """The number of a file that is on no disk: memory that other processes may have too."""
    number = os.memfd_create("novakind")
    os.ftruncate(number, size)
    return number


def cache_folder() -> Path:
    """Where novakind keeps what it can make again: NOVAKIND_CACHE, else novakind in XDG_CACHE_HOME or ~/.cache."""
    own, shared = os.environ.get("NOVAKIND_CACHE", ""), os.environ.get("XDG_CACHE_HOME", "")
    return Path(own or Path(shared or "~/.cache", "novakind")).expanduser()
