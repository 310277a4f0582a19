"""The command line: parse, call the library, show. No mathematics lives here."""

from __future__ import annotations

from .main import main

__all__ = ["main"]
