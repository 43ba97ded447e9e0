"""Video files as a few small pictures, taken by the clock: what was on the screen at even intervals of time.

Frame numbers say nothing about time: cameras differ in rate, phones vary it within a recording, and a screen that
stands still may send no frame for seconds. The timestamps of the frames are all that counts here.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, UInt8

from novakind.errors import UnreadableError, UserError
from novakind.given import MEMORY, status

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream
else:
    InputContainer = VideoFrame = VideoStream = Any

SLACK = 0.001  # seconds: some containers keep whole milliseconds, so a frame may come that much late
ENOUGH = 1.0  # seconds of a damaged file that are worth keeping, however long it was
STILL = ("image2", "_pipe", "tty")  # what FFmpeg would show of pictures and of text
FORMATS = "mov,mp4,m4a,3gp,3g2,mj2,avi,matroska,webm,mpeg,mpegvideo,mpegts,m4v,h264,hevc,gif,asf,flv,ogg,mp3,wav,flac"
SAFE = {"protocol_whitelist": "file", "format_whitelist": FORMATS}  # a list of other files is no video
BYTES = 24  # of a pixel: a decoder keeps several frames
LARGEST = 40_000_000  # pixels of a frame; 8K has 33 million
MICROSECONDS = 1_000_000

Clip = UInt8[np.ndarray, "3 frames size size"]
Square = UInt8[np.ndarray, "size size 3"]
Matrix = Float[np.ndarray, "2 2"]


class Look(NamedTuple):
    """What a file says of itself."""

    side: int
    """The shorter side, in pixels."""
    seconds: float


class Excerpt(NamedTuple):
    """Pictures as they were shown, the last one held until there are enough, and how many seconds were really there."""

    pictures: list[np.ndarray]
    seconds: float


def library() -> Any:
    """PyAV, which not everybody needs."""
    try:
        import av
    except ImportError:
        raise UserError("videos are decoded by PyAV, which is not installed: pip install 'novakind[video]'") from None
    return av


@contextmanager
def opened(path: Path) -> Iterator[tuple[InputContainer, VideoStream]]:
    """The file and its first stream of pictures; whatever the decoder raises within becomes the reason in one line."""
    av = library()
    try:
        if status(path).st_size == 0:
            raise UnreadableError("empty file")
        # An absolute path is never taken for a protocol, and a playlist cannot reach out to the network.
        with av.open(str(path.absolute()), container_options=SAFE) as container:
            if any(kind in container.format.name for kind in STILL):
                raise UnreadableError("not a video")
            stream = next((each for each in container.streams.video if not is_cover(each)), None)
            if stream is None:
                raise UnreadableError("sound without pictures" if container.streams.audio else "no video in it")
            if stream.codec_context is None:
                raise UnreadableError("a video by a codec that is not known here")
            if stream.width * stream.height > LARGEST:
                raise UnreadableError(f"frames of {stream.width} x {stream.height} pixels, more than any camera takes")
            stream.codec_context.thread_count = 1  # files are decoded side by side already
            with MEMORY.room(BYTES * stream.width * stream.height):
                yield container, stream
    except av.error.InvalidDataError:
        raise UnreadableError("not a video, or damaged") from None
    except (UnreadableError, UserError):
        raise
    except Exception as error:  # decoders of damaged files raise almost anything
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        if getattr(error, "errno", None) == errno.EINVAL:  # what FFmpeg says of formats that are not on the list
            reason = "not a video, or damaged"
        raise UnreadableError(reason.replace("\n", " ")) from None


def is_cover(stream: VideoStream) -> bool:
    """Whether it is the picture on the cover of a piece of music."""
    return library().stream.Disposition.attached_pic in stream.disposition


def look(path: Path) -> Look:
    """Size and length, without decoding anything."""
    with opened(path) as (container, stream):
        return Look(min(stream.width, stream.height), length(path, container, stream))


def length(path: Path, container: InputContainer, stream: VideoStream) -> float:
    """Seconds, as the file claims; where it claims nothing, as its packets say.

    Of a file that breaks off the duration may be a guess by its size: the number of frames in its head tells better.
    """
    if stream.duration and stream.time_base:
        counted = stream.frames / stream.average_rate if stream.average_rate else 0
        return float(max(stream.duration * stream.time_base, counted))
    if container.duration:
        return container.duration / MICROSECONDS
    with opened(path) as (again, other):
        shown = [(packet.pts, packet.duration or 0) for packet in again.demux(other) if packet.pts is not None]
        ticks = sum(max(shown)) - min(shown)[0] if shown else 0
        return ticks * float(other.time_base or 0)


def read_clip(path: Path, size: int, count: int, fps: float) -> Clip:
    """`count` square pictures, `fps` per second: from the start, or the middle of what is longer than that.

    A file that breaks off is used as far as it goes, if that is half of its length or a second.
    """
    with opened(path) as (container, stream):
        claimed, wanted = length(path, container, stream), count / fps
        begin = (claimed - wanted) / 2 if claimed - wanted > 1 / fps else 0.0
        found = excerpt(container, stream, begin, size, count, fps) if begin else None
    if found is None or found.seconds < wanted / 2:  # short, or its middle is missing
        with opened(path) as (container, stream):
            found = excerpt(container, stream, 0.0, size, count, fps)
    if not found.pictures:
        raise UnreadableError("no frame of it can be decoded")
    if found.seconds < min(claimed / 2, wanted, ENOUGH):
        raise UnreadableError(f"only {found.seconds:.1f} s of {claimed:.1f} s can be decoded")
    return np.ascontiguousarray(np.stack(found.pictures).transpose(3, 0, 1, 2))


def excerpt(container: InputContainer, stream: VideoStream, begin: float, size: int, count: int, fps: float) -> Excerpt:
    """The pictures on the screen at `begin` seconds, 1 / fps later, and so on."""
    draw = Drawing(stream, size)
    pictures: list[np.ndarray] = []
    shown, end = None, begin
    for time, lasting, frame in timed(container, stream, begin):
        while shown is not None and len(pictures) < count and begin + len(pictures) / fps < time - SLACK:
            pictures.append(draw(shown))
        if len(pictures) == count:
            end = begin + count / fps
            break
        shown, end = frame, time + lasting
    if shown is not None:
        pictures += [draw(shown)] * (count - len(pictures))
    return Excerpt(pictures, end - begin)


def timed(container: InputContainer, stream: VideoStream, begin: float) -> Iterator[tuple[float, float, VideoFrame]]:
    """Frames in the order in which they are shown, with the seconds since the start and how long each stays.

    Reading begins at the last frame before `begin` that can be decoded by itself. A frame without a timestamp follows
    the one before at the usual pace; one that would go back in time is left out.
    """
    base = float(stream.time_base or 1 / MICROSECONDS)
    usual = 1 / float(stream.average_rate) if stream.average_rate else base
    start = None
    if begin:
        start = (stream.start_time or 0) * base
        with suppress(library().FFmpegError):  # where seeking is impossible, all is read
            container.seek(round((start + begin) / base), stream=stream)
    due = 0.0
    for frame in frames(container, stream):
        stamp = frame.dts if container.format.name == "avi" else frame.pts  # AVI knows when to decode, not when to show
        if start is None and stamp is not None:
            start = stamp * base - due
        time = due if stamp is None or start is None else stamp * base - start
        if time > due - usual:
            lasting = frame.duration * base or usual
            due = time + usual
            yield time, lasting, frame


def frames(container: InputContainer, stream: VideoStream) -> Iterator[VideoFrame]:
    """Whatever can be decoded: a damaged packet is left out, and damage beyond packets ends the file."""
    failure = library().FFmpegError
    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets)
        except (StopIteration, failure):
            return
        try:
            decoded = packet.decode()
        except failure:
            continue
        yield from (frame for frame in decoded if not frame.is_corrupt)


class Drawing:
    """Draws frames of any size and pixel format as squares of RGB, upright, cropped at the centre."""

    def __init__(self, stream: VideoStream, size: int) -> None:
        self.size = size
        self.stretch = float(stream.sample_aspect_ratio or 1)  # of pixels that are not square
        self.scaler = library().video.reformatter.VideoReformatter()  # one for all: preparing it takes time
        self.latest: tuple[VideoFrame, np.ndarray] | None = None

    def __call__(self, frame: VideoFrame) -> Square:
        if self.latest is None or self.latest[0] is not frame:
            self.latest = frame, upright(self.draw(frame), orientation(frame))
        return self.latest[1]

    def draw(self, frame: VideoFrame) -> Square:
        sides = np.array([frame.height, frame.width * self.stretch])
        high, wide = np.maximum(np.round(sides * self.size / sides.min()), self.size).astype(int).tolist()
        whole = self.scaler.reformat(frame, wide, high, "rgb24", interpolation="BILINEAR").to_ndarray()
        top, left = (high - self.size) // 2, (wide - self.size) // 2
        return whole[top : top + self.size, left : left + self.size]


def orientation(frame: VideoFrame) -> Matrix:
    """Where the picture's axes (right, down) point on the screen: cameras that were turned say so beside the frame."""
    matrix = frame.side_data.get("DISPLAYMATRIX")
    if matrix is None:
        return np.eye(2)
    return np.frombuffer(bytes(matrix), np.int32)[[0, 1, 3, 4]].reshape(2, 2) / 65536


def upright(picture: Square, axes: Matrix) -> Square:
    """Turned and mirrored by the nearest quarter turn."""
    (right_x, right_y), (down_x, down_y) = axes
    if abs(right_y) > abs(right_x):
        picture, right_x, down_y = picture.transpose(1, 0, 2), down_x, right_y
    return picture[:: -1 if down_y < 0 else 1, :: -1 if right_x < 0 else 1]
