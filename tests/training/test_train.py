"""The loop: it finds the classes, repeats itself exactly, survives SIGKILL, and refuses what cannot work."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from short import QUICK, blobs, fit_in_halves, fit_until
from small import shapes_folder

from novakind.config import Config, Objective, Optim, starting
from novakind.data.collection import Collection, from_arrays
from novakind.data.sampler import Drawn, Sampler
from novakind.data.source import Source
from novakind.data.split import part
from novakind.datasets.gather import gather
from novakind.errors import UserError
from novakind.modality.image import Image
from novakind.modality.video import Video
from novakind.model import load_model, predict, to_bytes
from novakind.objective.metrics import scores
from novakind.runs.folder import Run
from novakind.training.loop import fit


def novel_acc(collection: Collection, config: Config) -> float:
    split = part(collection, 0.1, 0.2)
    model, _, _ = fit(collection, split, config)
    _, logp = predict(model, collection.items[split.test])
    return scores(collection.truth[split.test], logp, len(collection.classes), "test")["novel_acc/test/agnostic"]


def test_finds_novel_blobs():
    assert novel_acc(blobs(), QUICK) > 0.95


def test_known_classes_among_the_unlabeled():
    """They are recognised, and the statistics of the predictions agree with the prior that expects them."""
    whole = blobs()
    mixed = replace(whole, labels=np.where(np.arange(len(whole)) % 2, whole.labels, -1))
    free, split = mixed.labels < 0, part(mixed, 0.1, 0.0)
    share = float((whole.truth[free] < 3).mean())
    misfit = {}
    for expected in (0.0, share):
        model, _, history = fit(mixed, split, replace(QUICK, known_share=expected))
        misfit[expected] = history[-1]["loss/kl"]
    noise = QUICK.objective.kl * 5 / (2 * QUICK.batch)  # of a batch of perfect predictions over six classes
    assert misfit[share] < 3 * noise < misfit[0.0]
    found = scores(whole.truth[free], predict(model, whole.items[free])[1], 3, "test")
    assert min(found["known_acc/test/agnostic"], found["novel_acc/test/agnostic"]) > 0.95


def filmed(classes: int = 6, known: int = 3, moments: int = 60) -> Collection:
    """Moments of each class seen by two cameras, whose pictures share nothing but the moment."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(classes, 2, 16)) * 4
    truth, camera = np.repeat(np.arange(classes), 2 * moments), np.tile([0, 1], classes * moments)
    X = centres[truth, camera] + rng.normal(size=(len(truth), 16))
    collection = from_arrays(X, np.where(truth < known, truth, -1), "filmed")
    names = tuple(str(number) for number in range(classes))
    take = np.arange(classes * moments).repeat(2)
    return replace(collection, truth=truth, truth_classes=names, groups={"take": take, "view": np.arange(len(truth))})


def test_two_cameras_are_joined_by_the_moments_that_both_have_filmed():
    assert novel_acc(filmed(), replace(QUICK, epochs=30, pair="take")) > 0.95
    assert novel_acc(filmed(), QUICK) < 0.8  # six clouds, three categories: nothing says which belong together


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("day", "--pair day is not possible, as these data do not say .*: choose from take, view, or leave it out"),
        ("view", "--pair view finds no partner: .*; leave it out"),
    ],
)
def test_pairs_that_cannot_be_are_refused(pair, message):
    with pytest.raises(UserError, match=message):
        fit(filmed(), part(filmed(), 0.1, 0.2), replace(QUICK, pair=pair))


@pytest.mark.parametrize(
    "change",
    [
        {"head": "linear"},
        {"ema": 0.9},
        {"heads": 3, "objective": Objective(soft_start=0.3)},
        {"steps": "alternating"},
        {"proportionate": True},
        {"optim": Optim("adamw", lr=0.003, schedule="cosine")},
        {"optim": Optim("muon", lr=0.02, schedule="constant")},
        {"objective": Objective(weighting="ramp")},
        {"objective": Objective(weighting="adaptive")},
        {"objective": Objective(entropy=0.2, swapped=1, swapped_sharpened=0)},
        {"encoder": "mlp", "prior": "1/3,1/3,1/3"},
    ],
    ids=lambda change: "-".join(change),
)
def test_every_way_of_training_finds_most_of_them(change):
    """In the mean of two starts: one in ten or so takes two categories for one."""
    assert np.mean([novel_acc(blobs(), replace(QUICK, seed=seed, **change)) for seed in (0, 1)]) > 0.7


def test_supervised_features_and_kmeans():
    assert novel_acc(blobs(), replace(QUICK, method="supervised")) > 0.7


def test_same_seed_same_bytes_and_another_seed_others():
    collection = blobs()
    split = part(collection, 0.1, 0.0)
    outputs = [
        predict(fit(collection, split, replace(QUICK, epochs=2, seed=s))[0], collection.items)[1] for s in (1, 1, 2)
    ]
    assert np.array_equal(outputs[0], outputs[1])
    assert not np.allclose(outputs[0], outputs[2])


def test_more_or_fewer_categories_than_there_are():
    assert 0.3 < novel_acc(blobs(), replace(QUICK, novel=2)) < 1
    assert novel_acc(blobs(), replace(QUICK, novel=5)) > 0.3  # two of them may stay empty


def test_a_collapse_is_seen_and_said():
    config = replace(QUICK, objective=Objective(entropy=1, swapped_sharpened=0, kl=0, var=0))
    collection = blobs()
    _, warnings, _ = fit(collection, part(collection, 0.1, 0.0), config)
    assert warnings == [
        "collapse: 100% of the unlabeled items are taken for known classes; train longer with "
        "--epochs; if that does not help, raise --objective.kl, or --objective.novel-mass to 1",
        *[warning for warning in warnings if warning.startswith("only ")],
    ]


def test_a_loss_that_explodes_is_refused():
    with pytest.raises(UserError, match=r"smaller --optim\.lr"):
        fit(blobs(), part(blobs(), 0.1, 0.0), replace(QUICK, head="linear", optim=Optim(lr=1e6)))


@pytest.mark.parametrize(("known", "reason"), [(0, "no labeled item"), (6, "no unlabeled item")])
def test_both_kinds_of_items_are_needed(known, reason):
    collection = blobs(known, 6 - known)
    with pytest.raises(UserError, match=reason):
        fit(collection, part(collection, 0.1, 0.0), QUICK)


def test_a_stopped_run_goes_on_as_if_nothing_had_happened(tmp_path):
    collection = blobs()
    split = part(collection, 0.1, 0.0)
    config = replace(QUICK, epochs=6, ema=0.8, heads=2, optim=Optim("muon", lr=0.02))
    config = replace(config, objective=Objective(weighting="adaptive", soft_start=0.5))
    whole, _, _ = fit(collection, split, config, Run.claim(tmp_path / "whole"))
    fit_until(3, collection, split, config, Run.claim(tmp_path / "halves"))
    with (tmp_path / "halves" / "metrics.jsonl").open("a") as log:
        log.write('{"epoch": 4, "a line that no checkpoint covers": 1}\n')
    halves, _, _ = fit(collection, split, config, Run(tmp_path / "halves"))
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, halves.state_dict()[name]), name
    epochs = [json.loads(line)["epoch"] for line in (tmp_path / "halves" / "metrics.jsonl").read_text().splitlines()]
    assert epochs == [1, 2, 3, 4, 5, 6]


def test_a_resumed_run_draws_what_the_whole_one_draws(tmp_path, monkeypatch):
    drawn, epoch = [], Sampler.epoch

    def recorded(sampler: Sampler, number: int) -> Iterator[Drawn]:
        for items in epoch(sampler, number):
            drawn.append([number, *(part.tolist() for part in items)])
            yield items

    monkeypatch.setattr(Sampler, "epoch", recorded)
    collection, config = blobs(), replace(QUICK, epochs=4)
    split = part(collection, 0.1, 0.0)
    fit(collection, split, config)
    whole = drawn.copy()
    assert {number for number, *_ in whole} == {0, 1, 2, 3}
    for stop in (1, 3, 4):
        drawn.clear()
        fit_in_halves(stop, collection, split, config, tmp_path / str(stop))
        assert drawn == whole


def test_killed_before_and_after_training(tmp_path, monkeypatch):
    """Stopped while decoding and again when all epochs are done: nothing is decoded or trained twice."""
    from novakind.runs.complete import complete

    shapes_folder(tmp_path / "shapes")
    source = Source(str(tmp_path / "shapes"))
    config = replace(starting(Image, "glyphs"), novel=2, epochs=4, batch=40)
    complete(source, config, tmp_path / "whole", quiet=True)
    complete(source, config, tmp_path / "again", quiet=True)
    for file in ("model.safetensors", "predictions.csv", "results.json", "embeddings.npz"):
        (tmp_path / "again" / file).unlink()
    before = (tmp_path / "again" / "metrics.jsonl").read_bytes()
    monkeypatch.setattr(Image, "read", lambda *_: pytest.fail("a picture was read again"))
    complete(source, config, tmp_path / "again", quiet=True)
    assert (tmp_path / "again" / "metrics.jsonl").read_bytes() == before
    for file in ("model.safetensors", "predictions.csv"):
        assert (tmp_path / "again" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def test_digits_folder_end_to_end(tmp_path):
    """The demonstration's data, one short run: the novel digits are found."""
    from novakind.app.demo import write_digits

    root, truth = write_digits(tmp_path)
    collection, split = gather(Source(str(root), truth=str(truth), test=0.2), tmp_path / "store", 0.1, lambda *_: None)
    assert (len(collection), collection.classes, len(collection.truth_classes)) == (1797, ("0", "1", "2", "3", "4"), 10)
    assert collection.modality.shape == (3, 8, 8)
    model, warnings, _ = fit(collection, split, replace(starting(Image, "glyphs"), novel=5, epochs=20))
    result = scores(collection.truth[split.test], predict(model, collection.items[split.test])[1], 5, "test")
    assert not warnings
    assert result["known_acc/test/agnostic"] > 0.95
    assert result["novel_acc/test/agnostic"] > 0.8
    shutil.rmtree(tmp_path / "store")


@pytest.mark.parametrize("frames", [0, 8])
def test_flips_predict_an_item_and_its_mirror_image_alike(frames):
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (60, 16, 16, 3), dtype=np.uint8)
    collection = from_arrays(pictures, np.where(np.arange(60) < 30, np.arange(60) % 2, -1))
    if frames:
        clips = rng.integers(0, 256, (60, 3, 2 * frames, 32, 32), dtype=np.uint8)
        collection = replace(collection, items=clips, modality=Video(32, frames, 2 * frames))
    collection = replace(collection, modality=replace(collection.modality, flips=True))
    split = part(collection, 0.0, 0.0)
    config = Config(novel=2, epochs=1, batch=20, val=0.0)
    model, _, _ = fit(collection, split, config)
    mirrored = np.ascontiguousarray(collection.items[..., ::-1])
    (embedding, logp), (embedding_mirrored, logp_mirrored) = predict(model, collection.items), predict(model, mirrored)
    np.testing.assert_allclose(logp, logp_mirrored, atol=1e-5)
    np.testing.assert_allclose(embedding, embedding_mirrored, atol=1e-5)
    np.testing.assert_allclose(np.exp(logp).sum(1), 1, atol=1e-5)
    letters = replace(config, views=replace(collection.modality.Views(), flip=False))
    with pytest.raises(UserError, match=r"--no-views\.flip keeps them apart: give --no-flips"):
        fit(collection, split, letters)


def test_motion_is_blind_to_what_stands_still_and_stays_with_the_model(tmp_path):
    rng = np.random.default_rng(0)
    clips = rng.integers(0, 100, (60, 3, 16, 32, 32), dtype=np.uint8)
    labels = np.where(np.arange(60) < 30, np.arange(60) % 2, -1)
    still = from_arrays(clips[:, :, 0].transpose(0, 2, 3, 1), labels)
    collection = replace(still, items=clips, modality=Video(32, 8, 16, motion=True))
    config = Config(novel=2, epochs=1, batch=20, val=0.0)
    model, _, _ = fit(collection, part(collection, 0.0, 0.0), config)
    (tmp_path / "model.safetensors").write_bytes(to_bytes(model))
    brighter = predict(load_model(tmp_path / "model.safetensors"), clips + 100)
    for first, second in zip(predict(model, clips), brighter, strict=True):
        np.testing.assert_allclose(first, second, atol=1e-4)
    frozen = replace(collection, items=np.repeat(clips[:, :, :1], 16, axis=2))
    with pytest.raises(UserError, match=r"100% of the videos stand still.* give --no-motion"):
        fit(frozen, part(frozen, 0.0, 0.0), config)


@pytest.mark.parametrize(
    ("kind", "encoder", "small", "enough"),
    [
        ("image", "fastnet", 4, 24),
        ("video", "auto", 16, 32),
    ],
)
def test_views_that_the_encoder_cannot_take_are_refused(kind, encoder, small, enough):
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (60, 32, 32, 3), dtype=np.uint8)
    collection = from_arrays(pictures, np.where(np.arange(60) % 2, -1, np.arange(60) % 4 // 2))
    if kind == "video":
        clips = rng.integers(0, 256, (60, 3, 10, 40, 40), dtype=np.uint8)
        collection = replace(collection, items=clips, modality=Video(40, 8, 10))
    split, config = part(collection, 0.0, 0.0), Config(novel=2, encoder=encoder, batch=20, epochs=1)
    views = collection.modality.Views()
    refused, taken = (replace(config, views=replace(views, small=side)) for side in (small, enough))
    named = encoder.replace("auto", "r2plus1d-narrow")
    with pytest.raises(UserError, match=f"--views.small {small} is too small for the encoder {named}: give more"):
        fit(collection, split, refused)
    fit(collection, split, taken)
