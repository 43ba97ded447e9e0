"""SimGCD: each term against its formula written out."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from baselines import NOVEL, PRIOR, make_batch, make_model
from short import QUICK, blobs

from novakind.config import Config
from novakind.data.split import part, standardise
from novakind.methods.simgcd import SimGCD, lacking_entropy
from novakind.model import load_model, predict, to_bytes
from novakind.objective.metrics import scores
from novakind.training.loop import fit


def test_simgcd_terms_are_literal():
    method, model, batch = SimGCD(Config(novel=NOVEL), PRIOR), make_model(), make_batch(progress=0.075)
    model.replace_head("prototype")  # any head: the terms are of what it says
    torch.manual_seed(0)
    method.begin(model, method.stages(1)[0])
    terms = method.loss(model, batch)
    assert set(terms) == {"distilled", "mean_entropy", "views", "ce", "classes"}
    embedding = model.embedding(batch.x)
    directions = torch.nn.functional.normalize(model.head.directions.weight, dim=1)
    cosine = torch.nn.functional.normalize(embedding, dim=1) @ directions.T
    one, other = (torch.cat([cosine[a : a + 6], cosine[b : b + 30]]) for a, b in ((0, 12), (6, 42)))
    temperature = (0.07 + 0.04) / 2  # half of the way
    pairs = [(one, other), (other, one)]
    told = [-(torch.softmax(t / temperature, 1) * torch.log_softmax(s / 0.1, 1)).sum(1).mean() for t, s in pairs]
    torch.testing.assert_close(terms["distilled"], 0.65 * (told[0] + told[1]) / 2)
    mean = torch.softmax(cosine / 0.1, 1).mean(0)
    torch.testing.assert_close(terms["mean_entropy"], 0.65 * (math.log(5) + (mean * mean.log()).sum()))
    ce = -torch.log_softmax(cosine[:12] / 0.1, 1)[torch.arange(12), batch.labels].mean()
    torch.testing.assert_close(terms["ce"], 0.35 * ce)
    rows = torch.nn.functional.normalize(model.extra["projection"](embedding), dim=1)
    rows = torch.cat([rows[:6], rows[12:42], rows[6:12], rows[42:]])
    alike = (rows @ rows.T).exp()
    literal = [-(alike[i, (i + 36) % 72] / (alike[i].sum() - alike[i, i])).log() for i in range(72)]
    torch.testing.assert_close(terms["views"], 0.65 * torch.stack(literal).mean())


def test_simgcd_forbids_no_item_a_known_class():
    """Its mean's entropy is highest where all K classes are alike, known ones too."""
    even = torch.full((4, 5), 0.2).log()
    assert lacking_entropy(even).item() == pytest.approx(0, abs=1e-6)
    assert lacking_entropy(torch.eye(5)[[0, 0, 0]].clamp(min=1e-30).log()).item() == pytest.approx(math.log(5))


def test_simgcd_from_data_to_a_saved_model(tmp_path):
    collection = blobs(items=480)
    split = part(collection, 0.1, 0.2)
    collection = standardise(collection, split)
    model, _, _ = fit(collection, split, replace(QUICK, method="simgcd", epochs=50))
    logp = predict(model, collection.items)[1]
    found = scores(collection.truth[split.test], logp[split.test], model.card.known, "test")
    assert found["known_acc/test/agnostic"] > 0.9
    assert found["novel_acc/test/joint"] > 0.9  # a novel class may share the neuron of a known one
    file = tmp_path / "model.safetensors"
    file.write_bytes(to_bytes(model))
    np.testing.assert_array_equal(predict(load_model(file), collection.items)[1], logp)
