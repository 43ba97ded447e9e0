"""Small pictures of the items, as data URIs: each made once, and few enough for a page of a few megabytes."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable

from PIL import Image

SIDE = 112  # pixels, of pictures that have to be made smaller
SMALL = 3_000  # bytes, below which a picture is taken as it is
SIGNATURES = {b"\x89PNG": "image/png", b"RIFF": "image/webp", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


def gather(
    thumbnail: Callable[[int], bytes | None], first: Iterable[int], then: Iterable[int], limit: int, budget: int
) -> dict[int, str]:
    """Pictures of all items in `first`, and of items in `then` up to `limit` in number and about `budget` in bytes.

    An item without a picture, or whose file can no longer be read, is left out.
    """
    found = {item: uri for item in dict.fromkeys(first) if (uri := data_uri(thumbnail, item)) is not None}
    count, size = 0, 0
    for item in then:
        if item in found:
            continue
        if count >= limit or size >= budget:
            break
        uri = data_uri(thumbnail, item)
        count += 1
        if uri is not None:
            found[item] = uri
            size += len(uri)
    return found


def data_uri(thumbnail: Callable[[int], bytes | None], item: int) -> str | None:
    """One item's picture, or None."""
    try:
        picture = thumbnail(item)
        if picture is not None and len(picture) > SMALL:
            picture = shrink(picture)
    except (OSError, ValueError, SyntaxError):  # what Pillow raises for damaged files
        return None
    kind = next((kind for start, kind in SIGNATURES.items() if picture and picture.startswith(start)), None)
    return None if picture is None or kind is None else f"data:{kind};base64,{base64.b64encode(picture).decode()}"


def shrink(picture: bytes) -> bytes:
    """The picture as WebP of at most SIDE pixels, unless that is no smaller."""
    with Image.open(io.BytesIO(picture)) as image:
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    image.thumbnail((SIDE, SIDE))
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", quality=72, method=2)
    return min(picture, buffer.getvalue(), key=len)
