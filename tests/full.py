"""A disk that is full from some step on, for tests: it takes the place of `disk.act`."""

import errno
import os


class Full:
    """The n-th step finds the disk full, and so do all later ones; `calls` counts them."""

    def __init__(self, at: int) -> None:
        self.at, self.calls = at, 0

    def __call__(self, call, *arguments):
        self.calls += 1
        if self.calls >= self.at and call is not os.unlink and call is not os.ftruncate:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return call(*arguments)
