"""`fabricscout`: the service from a shell.

A flag that is none of the command's own is a parameter of the API: `--nvlink` asks `nvlink=true`,
`--no-sharp` asks `sharp=no` (`switches`), `--fabric-gbits-per-s-per-gpu-min 400` its own name. The
service says which there are and what each may be, so a new filter needs no new command.
"""

import argparse
import json
import shlex
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fabricscout.client import FabricScout
from fabricscout.command import Answer, Asked, Command
from fabricscout.commands import COMMANDS, GENERAL
from fabricscout.connection import Value
from fabricscout.errors import BadInput, FabricScoutError, NotFound
from fabricscout.switches import in_words
from fabricscout.writing import as_csv, as_json, as_table

FOUND, FAILED, BAD_INPUT, NOTHING = range(4)
EXIT_CODES = """exit codes:
  0  found
  1  no answer: the service is not reachable, or a token is missing or refused
  2  bad input: the field is named, with what it may be
  3  nothing matches, or there is nothing to compare
  4  a price rose (changes --fail-if-price-rises)

Any parameter of the API is a flag: --nvlink, --continent europe, --gpus-min 8 (or -f NAME=VALUE);
`fabricscout parameters offers` lists them. FABRICSCOUT_URL and FABRICSCOUT_TOKEN say where and who.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    if hasattr(signal, "SIGPIPE"):  # `| head` ends it quietly
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    command, asked = read(sys.argv[1:] if arguments is None else arguments)
    try:
        with FabricScout(asked.own("url")) as scout:
            return _write(_answer(scout, command, asked), asked)
    except BadInput as refused:
        for field, said in refused.fields.items() or [("", [refused.message])]:
            words = " ".join(said)
            _say(
                f"{field}: {words}" if field and words[:1].isupper() else f"{field} {words}".strip()
            )
        return BAD_INPUT
    except NotFound as refused:
        _say(refused.message)
        return NOTHING
    except FabricScoutError as failure:
        _say(str(failure))
        return FAILED


def _answer(scout: FabricScout, command: Command, asked: Asked) -> Answer:
    """What the command finds; asked again in the API's words where it refuses `true` or `false`."""
    try:
        return command.run(scout, asked)
    except BadInput:
        said = in_words(scout, command.door, asked.parameters)
        if said == asked.parameters:
            raise
    return command.run(scout, replace(asked, parameters=said))


def _write(answer: Answer, asked: Asked) -> int:
    rows = list(answer.rows)[: asked.own("limit")]
    if asked.own("json"):
        whole = {"results": rows, **answer.about} if answer.whole is None else answer.whole
        cut = {answer.within: whole[answer.within][: asked.own("limit")]} if answer.within else {}
        sys.stdout.write(as_json({**whole, **cut}))
    elif asked.own("csv"):
        sys.stdout.write(as_csv(rows))
    elif rows:
        sys.stdout.write(as_table(rows, answer.columns, answer.headings, answer.absent))
    if not asked.own("json"):
        for note in answer.notes or ([] if rows or answer.code == FOUND else ["nothing matches."]):
            _say(note)
    return answer.code if answer.code is not None else (FOUND if rows else NOTHING)


def _say(sentence: str) -> None:
    print(f"fabricscout: {sentence}", file=sys.stderr)


# --- Reading the command line -----------------------------------------------------------------


def read(arguments: Sequence[str]) -> tuple[Command, Asked]:
    """The command and what is asked of it; argparse's own exit 2 where it is malformed."""
    parser = argparse.ArgumentParser(
        prog="fabricscout",
        description="Rentable GPU clusters by their interconnect.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, each in COMMANDS.items():
        one = parsers.add_parser(
            name,
            help=each.says,
            description=each.says,
            epilog=EXIT_CODES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        for flags, options in (GENERAL | each.options).items():
            one.add_argument(*flags.split(), **options)
    name = arguments[0] if arguments else ""
    command = COMMANDS.get(name)
    words, switches = with_parameters(command, arguments) if command else (arguments, {})
    given, left = parser.parse_known_args(words)
    if left:
        parser.error(_not_read(left[0], given.command))
    try:
        parameters: dict[str, Value] = dict(_parameter(text) for text in given.parameters)
    except ValueError as problem:
        parser.error(str(problem))
    parameters |= switches
    if "format" in parameters:
        parser.error("--format is --json or --csv here")
    if parameters and not COMMANDS[given.command].takes_parameters:
        parser.error(f"{given.command} has no --{next(iter(parameters))}")
    options = {key: _file(value, parser) for key, value in vars(given).items()}
    return COMMANDS[given.command], Asked(options, parameters)


def with_parameters(
    command: Command, arguments: Sequence[str]
) -> tuple[list[str], dict[str, bool]]:
    """The same with every flag that is not the command's own written as `-f name=value`.

    A flag takes the next word as its value unless that is a flag too: after one that stands for
    itself, as `--nvlink` does, a word of the command's own must come earlier. Those that stand for
    themselves are apart, by name: True, or False after `--no-`. Asking `true` or `yes` by them is
    up to the field.
    """
    own = {flag for flags in GENERAL | command.options for flag in flags.split()} | {"-h", "--help"}
    written: list[str] = []
    switches: dict[str, bool] = {}
    left = list(arguments)
    while left:
        word = left.pop(0)
        flag, equals, value = word.partition("=")
        if not word.startswith("--") or word == "--" or flag in own:
            written.append(word)
            continue
        name = flag.removeprefix("--").replace("-", "_")
        if not equals and left and not left[0].startswith("--") and left[0] not in own:
            value = left.pop(0)
        elif not equals:
            asked = name.removeprefix("no_")
            switches[command.words.get(asked, asked)] = asked == name
            continue
        written += ["-f", f"{command.words.get(name, name)}={value}"]
    return written, switches


def _not_read(word: str, command: str) -> str:
    """What to write instead of a word that belongs to nothing."""
    if not COMMANDS[command].takes_parameters:
        return f"{command} takes no {word!r}: `fabricscout {command} --help` says what it takes"
    name, equals, value = word.lstrip("-").partition("=")
    if not equals or not name.replace("-", "_").isidentifier():
        return f"{word!r} is no flag: a parameter is written --NAME VALUE, or -f NAME=VALUE"
    flag = name.replace("_", "-")
    own = {"true": f"--{flag}", "false": f"--no-{flag}"}
    instead = own.get(value, f"--{flag} {shlex.quote(value)}")
    return f"{word!r} is no flag: write {instead}, or -f {shlex.quote(word)}"


def _parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError(f"-f takes NAME=VALUE, not {text!r}")
    return name, value


def _file(value: Any, parser: argparse.ArgumentParser) -> Any:
    """`@FILE` stands for the JSON in it."""
    if not isinstance(value, str) or not value.startswith("@"):
        return value
    try:
        return json.loads(Path(value[1:]).read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        parser.error(f"{value[1:]} holds no JSON that can be read ({problem})")
