"""Tables as text, for the tests that read them."""

import numpy as np

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00"


def table(columns: dict[str, np.ndarray], delimiter: str = ",") -> str:
    rows = zip(*columns.values(), strict=True)
    return "\n".join([delimiter.join(columns), *(delimiter.join(f"{float(v)!r}" for v in row) for row in rows)])


def timed(times: np.ndarray, name: str = "time") -> str:
    return table({name: times, "x": np.sin(times), "y": np.cos(times)})
