"""Time series: statistics, settings, pictures."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sensors import random_batch, sensor

from novakind.modality import KINDS, from_settings, series
from novakind.modality.series import Series


def test_statistics_are_those_of_each_channel():
    rng = np.random.default_rng(0)
    scale, offset = np.array([1e-6, 1.0, 1e4])[:, None], np.array([-3e-6, 0.0, 1e5])[:, None]
    rows = (rng.normal(size=(300, 3, 20)) * scale + offset).astype(np.float32)
    modality = sensor(3, 20, rate=50.0, unit="g").fitted(rows)
    np.testing.assert_allclose(modality.mean, rows.astype(np.float64).mean((0, 2)))
    np.testing.assert_allclose(modality.std, rows.astype(np.float64).std((0, 2)))
    assert (modality.rate, modality.unit, modality.shape) == (50.0, "g", (3, 20))
    ready = modality.normalise(modality.collate(rows))
    assert ready.is_contiguous()
    torch.testing.assert_close(ready.mean((0, 2)), torch.zeros(3), rtol=0, atol=2e-3)
    torch.testing.assert_close(ready.std((0, 2), correction=0), torch.ones(3), rtol=0, atol=1e-3)


@pytest.mark.parametrize("value", [0.0, 0.1, -9.81, 1e6])
def test_constant_channels_stay_at_zero(value):
    rows = np.random.default_rng(0).normal(size=(30, 2, 10)).astype(np.float32)
    rows[:, 1] = value
    modality = sensor(2, 10).fitted(rows)
    assert modality.std[1] == 1.0
    assert modality.normalise(modality.collate(rows))[:, 1].abs().max() <= 1e-6 * abs(value)


@pytest.mark.parametrize("count", [1, 4_999, 12_345])
def test_many_rows_are_sampled_from_first_to_last(count):
    rows = np.repeat(np.arange(count, dtype=np.float32)[:, None, None], 8, 2)
    assert abs(sensor(1, 8).fitted(rows).mean[0] - (count - 1) / 2) <= 2


def test_before_fitting_nothing_is_scaled_and_rows_are_copied():
    rows = random_batch().numpy()
    rows.flags.writeable = False
    batch = sensor().collate(rows)
    assert batch.dtype == torch.float32
    assert torch.equal(sensor().normalise(batch), batch)
    batch.zero_()
    assert rows.any()


def test_settings_survive_json(monkeypatch):
    monkeypatch.setitem(KINDS, "series", Series)
    modality = sensor(rate=50.0, hop=25, gravity="remove", unit="m/s²").fitted(random_batch().numpy())
    assert from_settings(json.loads(json.dumps(modality.settings()))) == modality
    assert modality.settings()["kind"] == "series"
    assert modality.dtype == "float32"


def test_reading_passes_on_what_a_window_is(monkeypatch):
    asked = []
    monkeypatch.setattr(series, "read_windows", lambda *arguments: asked.append(arguments) or [("walk", np.zeros(1))])
    found = sensor(2, 50, rate=25.0, hop=10, gravity="remove").read(Path("walk.csv"))
    assert asked == [(Path("walk.csv"), ("c0", "c1"), 25.0, 50, 10, "remove")]
    assert found[0][0] == "walk"
