"""The command line: parse options, call the library, print results. It contains no mathematics."""

from __future__ import annotations

from .main import main

__all__ = ["main"]
