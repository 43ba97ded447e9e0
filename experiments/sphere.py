"""What the losses do, seen: embeddings on the sphere untrained, trained by labels alone, and by all terms.

    python experiments/sphere.py      # 6 seconds on one core; writes docs/sphere.svg

Six clouds in 16 dimensions, three of them labeled. A small network sends each item to a point of the unit sphere in
three dimensions, where `PrototypeHead` compares it with six fixed random directions. Held-out items are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from novakind.encoders.mlp import MLP
from novakind.objective import losses
from novakind.objective.heads import PrototypeHead
from novakind.objective.metrics import match, scores
from novakind.objective.prior import Prior

PRIOR = Prior.uniform(known=3, novel=3)
SEED, INPUTS, BATCH, STEPS, WIDTH, HEIGHT, RADIUS = 0, 16, 128, 400, 960, 436, 138
NOTE = "Dots: held-out items, in the colour of their true class. Diamonds: the fixed prototypes. Faint: the far side."
STYLE = """
svg { --ground: #ffffff; --ink: #17191e; --muted: #5b6270; --edge: #dcdcd7; --light: #ffffff; --shade: #e3e5ea;
  --c0: #2563d9; --c1: #0b8f84; --c2: #7a4fdb; --c3: #e0560c; --c4: #c2185b; --c5: #c29200; }
@media (prefers-color-scheme: dark) {
  svg { --ground: #171a20; --ink: #eceef2; --muted: #9fa8b7; --edge: #323843; --light: #2f3641; --shade: #191d23;
    --c0: #6ea2ff; --c1: #3fd0c0; --c2: #b79fff; --c3: #ff9156; --c4: #ff6fa5; --c5: #ffd24a; } }
text { font: 13px system-ui, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif; fill: var(--muted);
  text-anchor: middle; white-space: pre; }
.title { font-size: 17px; font-weight: 660; fill: var(--ink); }
.line { fill: none; stroke: var(--muted); stroke-width: .7; opacity: .3; }
.items { fill: none; stroke-linecap: round; stroke-width: 5; opacity: .75; }
.mark { stroke: var(--ground); stroke-width: 1.8; } .far { opacity: .42; }
"""


def draw_items(each: int, centres: Tensor) -> tuple[Tensor, Tensor]:
    kinds = torch.arange(PRIOR.classes).repeat_interleave(each)
    return centres[kinds] + 0.7 * torch.randn(len(kinds), INPUTS), kinds


def spread_head(degrees: float = 60.0) -> PrototypeHead:
    """Random prototypes, drawn again until each two are that far apart: three dimensions are few for six classes."""
    while True:
        head = PrototypeHead(3, PRIOR.classes, tau=0.1)
        if (head.prototypes @ head.prototypes.T - torch.eye(PRIOR.classes)).max() < np.cos(np.radians(degrees)):
            return head


def train(head: PrototypeHead, items: Tensor, kinds: Tensor, steps: int, statistics: bool) -> nn.Module:
    """From the same first weights every time; a view of an item is the item and some noise."""
    torch.manual_seed(SEED)
    net = nn.Sequential(MLP(INPUTS, width=64), nn.Linear(64, 3))
    optimizer = torch.optim.Adam(net.parameters(), 3e-3)
    labeled, labels, unlabeled = items[kinds < PRIOR.known], kinds[kinds < PRIOR.known], items[kinds >= PRIOR.known]
    for _ in range(steps):
        some, others = torch.randint(len(labeled), (BATCH,)), torch.randint(len(unlabeled), (BATCH,))
        views = torch.cat([labeled[some], unlabeled[others], unlabeled[others]])
        known, first, second = head(net(views + 0.5 * torch.randn_like(views))).split(BATCH)
        both, loss = torch.cat([first, second]), losses.cross_entropy(known, labels[some])
        if statistics:
            loss = loss + 2 * losses.mean_kl(both, PRIOR.mean()) + losses.covariance_norm(both, PRIOR.covariance())
            loss = loss + losses.swapped_sharpened(first, second)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net.eval()


def best_view(centres: np.ndarray, front: np.ndarray) -> np.ndarray:
    """Of many rotations, one that puts no class upon another, near or far, none on the rim, and `front` in front."""
    turns = np.linalg.qr(np.random.default_rng(SEED).standard_normal((4000, 3, 3)))[0]
    turns *= np.linalg.det(turns)[:, None, None]  # no mirrors
    seen = centres @ turns
    gaps = np.linalg.norm(seen[:, :, None, :2] - seen[:, None, :, :2], axis=3) + 9 * np.eye(len(centres))
    clear = np.minimum(gaps.min((1, 2)), 2 * abs(seen[:, :, 2]).min(1))
    return turns[(clear + 0.1 * (front @ turns)[:, 2]).argmax()]


def at(point: np.ndarray) -> str:
    return f"{RADIUS * point[0]:.1f} {-RADIUS * point[1]:.1f}"


def globe() -> Iterator[str]:
    """The near halves of the parallels and meridians of a globe whose pole leans towards the viewer."""
    x, pole, z = np.array([[1, 0, 0], [0, 0.92, 0.39], [0, -0.39, 0.92]])
    cos, sin = (wave(np.linspace(0, 2 * np.pi, 121))[:, None] for wave in (np.cos, np.sin))
    circles = [np.sin(a) * pole + np.cos(a) * (cos * x + sin * z) for a in np.radians([-60, -30, 0, 30, 60])]
    circles += [cos * pole + sin * (np.cos(a) * x + np.sin(a) * z) for a in np.radians([0, 30, 60, 90, 120, 150])]
    for circle in circles:
        begun = np.append(False, circle[:-1, 2] > 0)
        yield "".join(f"{'L' if on else 'M'}{at(p)}" for p, on in zip(circle, begun, strict=True) if p[2] > 0)


def half(points: np.ndarray, kinds: np.ndarray, marks: np.ndarray, sign: int) -> Iterator[str]:
    """The near or far half of the sphere: items are lines without length, which their round ends turn into dots."""
    for kind in range(PRIOR.classes):
        path = "".join(f"M{at(point)}h0" for point in points[(kinds == kind) & (sign * points[:, 2] > 0)])
        yield f'<path class="items" stroke="var(--c{kind})" d="{path}"/>'
    for kind in np.flatnonzero(sign * marks[:, 2] > 0):
        yield f'<path class="mark" fill="var(--c{kind})" d="M{at(marks[kind])}m0-9l8 9l-8 9l-8-9z"/>'


def draw(panels: dict[str, np.ndarray], kinds: np.ndarray, marks: np.ndarray, turn: np.ndarray) -> Iterator[str]:
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
    yield f"<title>Embeddings on the sphere: {', '.join(panels)}</title><style>{STYLE}</style>"
    yield '<radialGradient id="ball" cx=".36" cy=".3" r=".8"><stop stop-color="var(--light)"/>'
    yield '<stop offset="1" stop-color="var(--shade)"/></radialGradient><rect x=".5" y=".5" rx="14" '
    yield f'width="{WIDTH - 1}" height="{HEIGHT - 1}" fill="var(--ground)" stroke="var(--edge)"/>'
    for number, (name, points) in enumerate(panels.items()):
        title, score = name.split(": ")
        yield f'<g transform="translate({160 + 320 * number} 216)"><text class="title" y="-176">{title}</text>'
        yield f'<text y="-154">{score}</text><circle r="{RADIUS}" fill="url(#ball)"/><g class="far">'
        yield from half(points @ turn, kinds, marks @ turn, -1)
        yield f'</g><path class="line" d="{"".join(globe())}"/><circle class="line" r="{RADIUS}"/>'
        yield from (*half(points @ turn, kinds, marks @ turn, 1), "</g>")
    names = ("known 1", "known 2", "known 3", "new 1", "new 2", "new 3")
    legend = "      ".join(f'<tspan fill="var(--c{kind})">&#9679;</tspan> {name}' for kind, name in enumerate(names))
    yield f'<text x="480" y="{HEIGHT - 46}">{legend}</text><text x="480" y="{HEIGHT - 22}">{NOTE}</text></svg>\n'


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    places, head = torch.randn(PRIOR.classes, INPUTS), spread_head()
    (items, kinds), (held, truth) = draw_items(300, places), draw_items(50, places)
    panels, found, points, truth = {}, {}, np.empty(0), truth.numpy()
    for title, steps, statistics in ("untrained", 0, False), ("labels alone", STEPS, False), ("all terms", STEPS, True):
        embedding = train(head, items, kinds, steps, statistics)(held).detach()
        points, logp = F.normalize(embedding, dim=1).numpy(), head(embedding).numpy()
        score = scores(truth, logp, PRIOR.known, "test")
        known, new = (f"{100 * score[f'{which}_acc/test/agnostic']:.0f} %" for which in ("known", "novel"))
        panels[f"{title}: known {known}, new {new}"] = points
        found = {kind: neuron for neuron, kind in match(truth, logp.argmax(1)).items()}
    print(*panels, sep="\n")
    prototypes = head.prototypes.numpy()[[found[kind] for kind in range(PRIOR.classes)]]
    centres = np.stack([points[truth == kind].mean(0) for kind in range(PRIOR.classes)])
    turn = best_view(centres, front=next(iter(panels.values())).mean(0))
    Path(__file__).parents[1].joinpath("docs/sphere.svg").write_text("\n".join(draw(panels, truth, prototypes, turn)))


if __name__ == "__main__":
    main()
