"""Which workers of a cluster have, or may have, a folder and a process of a comparison: the end waits for these."""

from __future__ import annotations

from collections.abc import Collection

from . import hosting


class OpenHosts:
    """The hosts of a comparison that were begun, by their tokens."""

    def __init__(self) -> None:
        self._addresses: dict[str, str] = {}  # of all
        self._begun: set[str] = set()  # of which nothing was heard: their workers are busy, or about to tell
        self._open: set[str] = set()

    def begin(self, token: str, address: str) -> None:
        """Note that a worker was asked for a host."""
        self._addresses[token] = address
        self._begun.add(token)

    def hear(self, token: str, what: str) -> None:
        """Take the message of a host that opens or has closed."""
        self._begun.discard(token)
        if what == hosting.OPEN:
            self._open.add(token)
        else:
            self._open.discard(token)

    def drop(self, token: str) -> None:
        """Note that a host is not there."""
        self._begun.discard(token)
        self._open.discard(token)

    def keep(self, alive: Collection[str]) -> None:
        """Drop what was on workers that are gone."""
        for token in self._begun | self._open:
            if self._addresses[token] not in alive:
                self.drop(token)

    def left(self, *, begun: bool) -> list[str]:
        """Return the workers that have a host, and if asked those that may still begin one."""
        return sorted({self._addresses[token] for token in self._open | (self._begun if begun else set())})
