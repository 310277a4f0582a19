"""The entry point: run one command, print its result or error, and return an exit code.

0 success, 1 failure, 2 usage error, 3 invalid data or model file (or one beyond the memory limit), 4 missing optional
package, 130 interrupted, 141 reader closed stdout.
"""

from __future__ import annotations

import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from ..core.errors import DataError, LowlandError, LowlandWarning, MissingExtraError, ModelFileError
from ..core.lazy import no_garbage_collection
from .answer import Answer, UsageError, fail, show, show_json, warn
from .options import HIDDEN
from .wording import command_options, in_words

_LABELS = ("--color", "--colour", "--target", "--label", "--labels", "--y")  # names of an option that users may expect


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; never raises SystemExit.

    >>> main(["methods", "--json"]) and None  # doctest: +ELLIPSIS
    {
      "command": "methods",
    ...
    """
    try:
        return _run(list(sys.argv[1:] if argv is None else argv))
    except BrokenPipeError:
        return _reader_gone()


def _run(words: list[str]) -> int:
    """Run one command; messages name its options."""
    if words[:1] == [HIDDEN]:
        from .complete import candidates

        print("\n".join(candidates(words[1:])))
        return 0
    with command_options(lambda: _option_names(words)):
        return _outcome(words)


def _outcome(words: list[str]) -> int:
    """Run one command and print its result or error."""
    with no_garbage_collection():
        from cyclopts import CycloptsError

        from .app import COMMANDS, command_of, options_of, parser
        from .options import Common

        before = ["", *words]  # standard input looks like an option; after --na a dash is a word for missing values
        words = ["./-" if word == "-" and before[i] != "--na" else word for i, word in enumerate(words)]
        name = command_of(words)
        parse = parser(name)
    debug, json = "--debug" in words, "--json" in words  # for errors while the options are parsed
    try:
        if name and _asks_for_help(words):
            with no_garbage_collection():
                parse.help_print(name.split())
            return 0
        with no_garbage_collection():
            options = options_of(words, aliases=True)
            if "--set" in options and "--method" in options:
                from .method_flags import as_settings

                words = as_settings(words, options)
            command, bound, _ = parse.parse_args(words, exit_on_error=False, print_error=False)
        common = bound.arguments.get("common") or Common()
        debug, json = common.debug, common.json
        if name and command is COMMANDS[name].load():  # help and version are printed even if the settings are invalid
            _check_environment()
        with _plain_warnings() as messages:
            answer = command(*bound.args, **bound.kwargs)
        if isinstance(answer, Answer):
            show_json(name, answer, messages) if json else show(answer)
        sys.stdout.flush()
        return 0
    except KeyboardInterrupt:
        fail("interrupted; no partial file was written")
        return 130
    except BrokenPipeError:
        raise
    except CycloptsError as error:
        return _failed(UsageError(f"{_parser_words(error, words)} See `{_help_for(words)}`."), debug, json)
    except Exception as error:
        return _failed(error, debug, json)


def _asks_for_help(words: Sequence[str]) -> bool:
    """Return whether the options contain that for help, which is printed whatever else they are."""
    options = words[: words.index("--")] if "--" in words else words
    return "--help" in options or "-h" in options


def _parser_words(error: Exception, words: Sequence[str]) -> str:
    """Return the parser's message in plain words; for an unknown option, with close names only."""
    from cyclopts import MissingArgumentError, UnknownOptionError, UnusedCliTokensError

    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        extra = " ".join(map(shlex.quote, error.unused_tokens))
        return f"unexpected argument: {extra}. Remove it; a name with spaces needs quotes."
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        name = next((word for word in words if word in error.argument.names), error.argument.name)
        if name in words:
            return f"{name} needs a value."
        meaning = error.argument.parameter.help if name.startswith("-") else None
        return f"{name} is missing." + (f" {meaning}" if meaning else "")
    if not isinstance(error, UnknownOptionError) or error.token is None:
        return str(error)
    import difflib

    from .app import options_of

    flag = str(error.token.keyword or error.token.value).partition("=")[0]
    if flag in ("--engine", "--scheduler", "--workers"):
        return f"{flag} is an option of reduce, transform and compare; this command runs in this process."
    known = options_of(words, aliases=True)
    if "--set" in known and "--method" in known:
        from .method_flags import flags_of_method

        known = [*known, *flags_of_method(words)]
    near = difflib.get_close_matches(flag, known, n=1, cutoff=0.7)
    if flag in _LABELS:  # the column of labels has another name where maps are judged than where they are drawn
        own: list[str] = [name for name in ("--target", "--color") if name in known]
        if not own and "--drop" in known:
            return f"unknown option {flag}; to leave the column of labels out of the data, use --drop COLUMN."
        near = own or near
    return f"unknown option {flag}." + (f" Did you mean {near[0]}?" if near else "")


def _reader_gone() -> int:
    """Redirect closed streams to the null device, so that flushing at exit does not fail after `| head`."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return 141


def _check_environment() -> None:
    """Raise `UsageError` for invalid settings in the environment, before any work."""
    from ..core.settings import memory_limit, threads

    try:
        memory_limit(), threads()
    except ValueError as error:
        raise UsageError(str(error)) from error


def _failed(error: Exception, debug: bool, json: bool) -> int:
    """Print an error, with the traceback if requested, and return the exit code."""
    if debug or os.environ.get("LOWLAND_DEBUG", "0") not in ("", "0"):
        traceback.print_exception(error, file=sys.stderr)
    code, text = exit_code(error), _describe(error)
    fail(text)
    if json:
        import json as encoder

        with suppress(OSError):  # a full disk behind stdout may be what failed; the error is on stderr
            print(encoder.dumps({"error": text, "exit_code": code}, ensure_ascii=False, indent=2), flush=True)
    _close_if_full(sys.stdout)
    return code


def _close_if_full(stream: TextIO) -> None:
    """Redirect a stream that cannot be written to the null device, so that flushing it at exit does not fail, too."""
    try:
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def exit_code(error: Exception) -> int:
    """Return the exit code of an error.

    >>> exit_code(DataError("row 3 is empty")), exit_code(OSError("disk full"))
    (3, 1)
    """
    if isinstance(error, UsageError):
        return 2
    if isinstance(error, DataError | ModelFileError):
        return 3
    if isinstance(error, MissingExtraError):
        return 4
    return 1


def _describe(error: Exception) -> str:
    if isinstance(error, LowlandError):
        return in_words(error.args[0]) if error.args else str(error)
    if isinstance(error, OSError):
        said = error.strerror or str(error)
        return f"{said}: {error.filename}" if error.filename else said
    return f"unexpected {type(error).__name__}: {error} (run again with --debug to see the traceback)"


def _option_names(words: Sequence[str]) -> list[str]:
    """Return the options that messages may name; called when one does."""
    from .app import options_of

    options = list(options_of(words))
    if "--set" in options and "--method" in options:  # parameters of the method that were given as options
        options += [word.partition("=")[0] for word in words if word.startswith("--") and len(word) > 2]
    return options


def _help_for(words: Sequence[str]) -> str:
    from .app import GROUPS, command_of

    name = command_of(words) or next((word for word in words[:1] if word in GROUPS), "")
    return f"lowland {name} --help" if name else "lowland --help"


@contextmanager
def _plain_warnings() -> Iterator[list[str]]:
    """Print each warning of the library once, as a plain line, and collect them; others are shown as usual."""
    messages: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always", LowlandWarning)
        usual = warnings.showwarning

        def plainly(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> Any:
            if not issubclass(category, LowlandWarning):
                return usual(message, category, filename, lineno, file, line)
            text = in_words(message.args[0] if isinstance(message, Warning) else message)
            if text not in messages:
                messages.append(text)
                warn(text)
            return None

        warnings.showwarning = plainly
        yield messages
