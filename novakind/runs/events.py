"""What metrics.jsonl has, for TensorBoard: a file of events in the run folder, beside it."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import Any

from novakind.disk import append, write_atomic
from novakind.errors import UserError
from novakind.runs.folder import EVENTS, Run


class Logged:
    """The checkpoints of a run, whose lines are written as events too."""

    def __init__(self, run: Run) -> None:
        try:
            import tensorboard.compat.proto.event_pb2  # pyright: ignore[reportMissingImports]  # noqa: F401
        except ImportError:
            raise UserError(
                "--log tensorboard needs tensorboard: pip install 'novakind[tensorboard]', or leave it out, for "
                "metrics.jsonl has the same"
            ) from None
        self.run = run

    @property
    def file(self) -> Path:
        return self.run.path / EVENTS

    def restore(self) -> dict[str, Any] | None:
        return self.run.restore()

    def history(self, epochs: int) -> list[dict[str, Any]]:
        """Events of later epochs, which the checkpoint does not cover, are removed too."""
        lines = self.run.history(epochs)
        write_atomic(self.file, b"".join([events({}), *map(events, lines)]))
        return lines

    def log(self, line: dict[str, Any]) -> None:
        self.run.log(line)
        if not self.file.exists():
            write_atomic(self.file, events({}))
        append(self.file, events(line))

    def checkpoint(self, state: dict[str, Any]) -> None:
        self.run.checkpoint(state)


def events(line: dict[str, Any]) -> bytes:
    """A line of metrics.jsonl as an event of its epoch; without a line, what the file begins with."""
    from tensorboard.compat.proto.event_pb2 import Event  # pyright: ignore[reportMissingImports]
    from tensorboard.compat.proto.summary_pb2 import (  # pyright: ignore[reportMissingImports]
        Summary,
        SummaryMetadata,
    )
    from tensorboard.compat.proto.tensor_pb2 import TensorProto  # pyright: ignore[reportMissingImports]
    from tensorboard.summary.writer.record_writer import RecordWriter  # pyright: ignore[reportMissingImports]

    def value(name: str, said: Any) -> Any:
        if not isinstance(said, str):
            return Summary.Value(tag=name, simple_value=said)
        text = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
        return Summary.Value(tag=name, metadata=text, tensor=TensorProto(dtype="DT_STRING", string_val=[said.encode()]))

    event = Event(wall_time=time.time())
    if line:
        event.step = line["epoch"]
        event.summary.CopyFrom(Summary(value=[value(name, said) for name, said in line.items() if name != "epoch"]))
    else:
        event.file_version = "brain.Event:2"
    buffer = io.BytesIO()
    RecordWriter(buffer).write(event.SerializeToString())
    return buffer.getvalue()
