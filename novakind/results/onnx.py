"""The network as one ONNX file, for programs without novakind or torch: rows of items in, probabilities out.

Normalisation is part of it, and so are the frozen encoder before it and the mean over mirror images. Beside NAME.onnx
stand NAME.json, with the names of the categories and what a row is, and NAME.py, the lines of Python that use both.
"""

from __future__ import annotations

import json
import logging
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from novakind.disk import write_atomic
from novakind.errors import UserError
from novakind.model import Model, load_model
from novakind.results.export import keep_files
from novakind.runs.folder import Run

ROWS = "rows = np.load(sys.argv[1])  # one row per item, as NAME.json says"
PROGRAM = """# Sorts items with {network}: python {program} {given}
import json, sys
import numpy as np
import onnxruntime{imports}

info = json.load(open({names}, encoding="utf-8"))
{rows}
session = onnxruntime.InferenceSession({network})
probability = session.run(["probability"], {{"rows": rows.astype(info["type"])}})[0]
for item, line in enumerate(probability):
    print(item, info["categories"][line.argmax()], f"{{line.max():.3f}}")
"""


class Network(nn.Module):
    """From rows as they are read to the probabilities of all categories and the embedding."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model, self.before = model.eval(), model.front.network if model.front else None

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        x: Any = rows
        if self.model.front is not None and self.before is not None:
            seen = self.model.front.modality
            faces = seen.faces(seen.normalise(from_tensor(seen)(x)))
            x = normalize(torch.stack([self.before(face) for face in faces]).mean(0), dim=1)
        modality = self.model.modality
        faces = modality.faces(modality.normalise(from_tensor(modality)(x)))
        embedded = torch.stack([self.model.embedding(face) for face in faces])
        logp = torch.stack([self.model.head(each) for each in embedded]).logsumexp(0) - math.log(len(faces))
        return logp.exp(), embedded.mean(0)


def from_tensor(modality: Any) -> Any:
    """How rows become numbers inside a network; texts do not, for they are cut into words first."""
    found = getattr(modality, "from_tensor", None)
    if found is None:
        raise UserError(
            f"{modality.noun} are prepared by a program, which ONNX cannot hold: sort them with novakind predict"
        )
    return found


def to_onnx(run: Path, out: Path) -> str:
    """Write NAME.onnx, NAME.json and NAME.py; a sentence on what was written."""
    if out.suffix.lower() != ".onnx":
        raise UserError(f"--out {out} does not end in .onnx: give --out {out.name or 'sorter'}.onnx")
    keep_files(run, out)
    model = load_model(Run(run).model_file)
    reads = model.reads
    content = exported(model)
    facts = {
        "categories": [name.encode(errors="backslashreplace").decode() for name in model.card.categories],
        "known": model.card.known,
        "shape": list(reads.shape),
        "type": reads.dtype,
        "rows": f"{reads.noun}: an array of the shape (items, {', '.join(map(str, reads.shape))})",
    }
    code = getattr(reads, "rows_in_python", "")
    given, imports = ("a.png b.png", "\nfrom PIL import Image, ImageOps") if code else ("rows.npy", "")
    places = {"network": out, "names": out.with_suffix(".json"), "program": out.with_suffix(".py")}
    quoted = {key: ascii(place.name) for key, place in places.items()}  # a name may be of any signs
    program = PROGRAM.format(given=given, imports=imports, rows=code or ROWS, **quoted)
    write_atomic(out, content)
    write_atomic(out.with_suffix(".json"), json.dumps(facts, indent=1, ensure_ascii=False).encode())
    write_atomic(out.with_suffix(".py"), program.encode())
    return f"the network in {out}, names of its categories in {out.stem}.json, how to use it in {out.stem}.py"


def exported(model: Model) -> bytes:
    """The network, for any number of rows."""
    try:
        import onnx  # noqa: F401 pyright: ignore[reportMissingImports]
        import onnxscript  # noqa: F401 pyright: ignore[reportMissingImports]
    except ImportError:
        raise UserError("export to ONNX needs onnx: pip install 'novakind[onnx]'") from None
    rows = torch.zeros((2, *model.reads.shape), dtype=getattr(torch, model.reads.dtype))
    batch = torch.export.Dim("items", min=1)
    network = Network(model.cpu())
    network(rows)  # what cannot be exported in principle says so here
    with quietly():
        try:
            program = torch.onnx.export(
                network,
                (rows,),
                input_names=["rows"],
                output_names=["probability", "embedding"],
                dynamic_shapes={"rows": {0: batch}},
                dynamo=True,
                verbose=False,
            )
            assert program is not None
            return program.model_proto.SerializeToString()
        except Exception as error:  # whatever an encoder is made of
            reason = str(error).strip().split("\n")[0][:100] or type(error).__name__
            raise UserError(
                f"the encoder {model.card.encoder} cannot be written as ONNX ({reason}): sort items with novakind "
                "predict, or train with another --encoder"
            ) from None


@contextmanager
def quietly() -> Iterator[None]:
    """The exporter explains itself to developers of torch."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.disable(before)
