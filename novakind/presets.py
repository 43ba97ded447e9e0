"""Settings that belong together, by name: where to start from for a kind of data."""

from __future__ import annotations

from novakind.config import Config, Objective, Optim
from novakind.modality.image import ImageAugment
from novakind.modality.series import SeriesAugment
from novakind.modality.video import VideoAugment


def default() -> Config:
    """Photographs and feature vectors, on any machine."""
    return Config()


def glyphs() -> Config:
    """Digits, letters, symbols: no mirroring, no colour, slight turns and crops; small pictures, so smaller batches."""
    drawn = ImageAugment(flip=False, crop=0.7, rotate=12, jitter=0.0, grey=0.0, blur=0.0, solarize=0.0, cutout=0.0)
    return Config(batch=128, optim=Optim(lr=0.2), image=drawn)


def sensors() -> Config:
    """Recordings of body-worn sensors and the like: the device may be worn at any angle."""
    return Config(ema=0.98, optim=Optim("muon", lr=0.05, weight_decay=0.01), series=SeriesAugment(rotate=180))


def videos() -> Config:
    """Clips of people and things that move, in the hundreds or thousands: told by their movement."""
    return Config(
        motion=True,
        batch=60,
        ema=0.98,
        heads=4,
        objective=Objective(ce=2.5, novel_mass=0.5, soft_start=0.3),
        optim=Optim("muon", lr=0.05, weight_decay=0.01),
        video=VideoAugment(crop=0.35, jitter=0.6, grey=0.3),
    )


def fast() -> Config:
    """Small photographs (CIFAR-10) on CPUs: half an hour on two cores."""
    return Config(
        encoder="fastnet-wide",
        epochs=15,
        val=0.04,
        ema=0.98,
        flips=True,
        heads=4,
        objective=Objective(ce=2.5, novel_mass=0.5, soft_start=0.3),
        optim=Optim("muon", lr=0.1, weight_decay=0.01),
        image=ImageAugment(crop=0.7, jitter=0.2, small=24, mild_from=0.6),
    )


def paper() -> Config:
    """The paper's own choice: eq. 8, 9, 11, 14, 17 with weight 1, SGD, linear schedule; ResNet-18, authors' stem.

    It states no number of epochs: 200 are the habit of the field.
    """
    return Config(
        encoder="resnet18-cifar-pool",
        steps="alternating",
        epochs=200,
        objective=Objective(entropy=1, norm=1, swapped_sharpened=0, kl=1, var=1),
        optim=Optim(nesterov=False, warmup=0),
        image=ImageAugment(crop=0.2),
    )


PRESETS = {"default": default, "glyphs": glyphs, "sensors": sensors, "videos": videos, "fast": fast, "paper": paper}
