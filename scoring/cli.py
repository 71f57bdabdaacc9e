"""The command line: estimate, search, pareto, collective, nccl, validate.

Exit 0 with an answer, 1 where the job does not fit or a measurement contradicts itself or its
cluster (the reasons are the answer), 2 for bad input:
then one sentence on stderr names the field, and nothing else is printed.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from scoring.answers import DoesNotFit, Estimate
from scoring.collectives import KINDS, bus_bytes_per_s, group, legal_times
from scoring.curves import correction
from scoring.estimate import estimate, find_layouts, layouts_considered
from scoring.estimate import search as search_layouts
from scoring.examples import complete
from scoring.fields import FieldError, Fields, read_file
from scoring.hardware import Cluster, cluster_fields, clusters
from scoring.layout import Layout
from scoring.nccl_check import check_run
from scoring.nccl_rows import BadPaste
from scoring.nccl_tests import MOST_CHARACTERS, NAMES, read_run
from scoring.nccl_words import contradictions, sentences, verdict
from scoring.refusals import unjoined
from scoring.said import Said
from scoring.serving import Served, pareto
from scoring.units import GIGA, MOST_BYTES
from scoring.validation import validate
from scoring.workload import Job, job_fields, jobs

OK, DOES_NOT_FIT, CONTRADICTED, BAD_INPUT = 0, 1, 1, 2


class Parser(argparse.ArgumentParser):
    """argparse whose complaint is one sentence, raised instead of printed."""

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong with the arguments."""
        raise FieldError("arguments", f"{message} (see --help).")


def main(arguments: Sequence[str]) -> int:
    """Run one command; returns the exit code."""
    try:
        return _run(arguments)
    except FieldError as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # `| head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK


def _run(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    example = getattr(options, "example", None)
    if example:
        print(json.dumps(complete(example), indent=2, ensure_ascii=False))
        return OK
    commands = {
        "estimate": _estimate,
        "search": _search,
        "pareto": _pareto,
        "collective": _collective,
        "nccl": _nccl,
        "validate": _validate,
    }
    return commands[options.command](options)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python -m scoring",
        description="What a job costs on a GPU cluster: time, memory, layout, and what is lost.",
        epilog=f"clusters: {', '.join(clusters())}. jobs: {', '.join(jobs())}.",
    )
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    for name, words in (
        ("estimate", "one cluster, one job: the best layout, or the one given"),
        ("search", "the best layouts, best first"),
        ("pareto", "serving: speed for one reader against tokens of a GPU, fastest first"),
    ):
        command = commands.add_parser(name, help=words, description=words)
        _add_cluster(command)
        counts = command.add_mutually_exclusive_group()
        counts.add_argument("--nodes", metavar="N", help="whole nodes")
        counts.add_argument("--gpus", metavar="N", help="GPUs: part of a node, or whole nodes")
        command.add_argument("--job", metavar="FILE|SLUG", help="JSON or TOML, or a slug")
        command.add_argument("--example", choices=("cluster", "job"), help="print a complete file")
        if name == "estimate":
            command.add_argument("--layout", help="tp=8,pp=2,dp=4,... instead of a search")
        elif name == "search":
            command.add_argument("--top", metavar="N", default="10", help="how many layouts")
            command.add_argument("--timing", action="store_true", help="time of the search")
    words = "time, algorithm and bus bandwidth of one collective"
    command = commands.add_parser("collective", help=words, description=words)
    command.add_argument("kind", metavar="|".join(KINDS))
    _add_cluster(command)
    command.add_argument("--ranks", metavar="N")
    command.add_argument("--bytes", metavar="N", help="buffer as nccl-tests counts it")
    command.add_argument("--example", choices=("cluster", "job"), help="print a complete file")
    words = "output of nccl-tests or rccl-tests held against line rate, the model and others"
    command = commands.add_parser("nccl", help=words, description=words)
    command.add_argument("file", metavar="FILE|-", help="what the test printed; - is stdin")
    _add_cluster(command)
    command.add_argument("--nodes", metavar="N", help="where the output does not list its hosts")
    command.add_argument("--collective", metavar="|".join(dict.fromkeys(NAMES.values())))
    words = "the model against measured rows"
    command = commands.add_parser("validate", help=words, description=words)
    command.add_argument("file", metavar="FILE.csv")
    command.add_argument("--json", action="store_true")
    return parser


def _add_cluster(command: argparse.ArgumentParser) -> None:
    command.add_argument("--cluster", metavar="FILE|SLUG", help="JSON or TOML, or a slug")
    command.add_argument("--json", action="store_true", help="every figure, as JSON")


# ------------------------------------------------------------------ inputs


def _read_cluster(options: argparse.Namespace) -> Cluster:
    fields, name = _cluster_given(options)
    return Cluster.from_fields(fields, name=name)


def _cluster_given(options: argparse.Namespace) -> tuple[Mapping[str, object], str]:
    given = _required(options.cluster, "cluster")
    if given in clusters():
        return cluster_fields(given), given
    path = _path(given, "cluster", clusters())
    return read_file(path), path.stem


def _read_job(options: argparse.Namespace) -> Job:
    given = _required(options.job, "job")
    if given in jobs():
        return Job.from_fields(job_fields(given), name=given)
    path = _path(given, "job", jobs())
    return Job.from_fields(read_file(path), name=path.stem)


def _path(given: str, field: str, slugs: Sequence[str]) -> Path:
    """The file that is meant; a word that is neither a file nor a slug is told the slugs."""
    path = Path(given)
    try:
        is_file = path.is_file()
    except (OSError, ValueError):
        is_file = False
    if not is_file:
        Fields({field: given}).text(field, slugs)
    return path


def _required(given: str | None, field: str) -> str:
    if not given:
        raise FieldError(field, f"must be given (--{field}).")
    return given


def _whole(given: str | None, field: str, high: int) -> int:
    value = Fields({field: _required(given, field)}).whole(field, 1, high)
    return value or 1


def _gpus(options: argparse.Namespace, cluster: Cluster) -> int:
    if options.nodes is not None:
        return _whole(options.nodes, "nodes", 1_000_000) * cluster.gpu_count
    if options.gpus is not None:
        return _whole(options.gpus, "gpus", 1_000_000)
    raise FieldError("gpus", "or nodes must be given (--gpus N or --nodes N).")


# ------------------------------------------------------------------ commands


def _estimate(options: argparse.Namespace) -> int:
    cluster, job = _read_cluster(options), _read_job(options)
    gpus = _gpus(options, cluster)
    layout = Layout.parse(options.layout, job, gpus) if options.layout else None
    answer = estimate(cluster, job, gpus, layout)
    _print(answer.to_json() if options.json else None, [_words(answer)])
    return OK if answer.fits else DOES_NOT_FIT


def _search(options: argparse.Namespace) -> int:
    cluster, job = _read_cluster(options), _read_job(options)
    gpus, top = _gpus(options, cluster), _whole(options.top, "top", 1000)
    start = time.perf_counter()
    find_layouts(cluster, job, gpus, top)
    took = time.perf_counter() - start
    found = search_layouts(cluster, job, gpus, top)
    best = found[0] if found else estimate(cluster, job, gpus)
    answer = {**best.to_json(), "results": [one.to_json() for one in found]}
    lines = [_words(one) for one in found] or [_words(best)]
    if options.timing:
        timing = {"search_s": took, "layouts": layouts_considered(job, gpus)}
        answer["timing"] = timing
        lines.append(f"{timing['layouts']} layouts in {took:.3f} s")
    _print(answer if options.json else None, lines)
    return OK if found else DOES_NOT_FIT


def _pareto(options: argparse.Namespace) -> int:
    cluster, job = _read_cluster(options), _read_job(options)
    gpus = _gpus(options, cluster)
    points = pareto(cluster, job, gpus)
    none = (
        () if points else estimate(cluster, job, gpus).reasons or ("no point is within the limit",)
    )
    answer = {
        "cluster": cluster.name,
        "job": job.name,
        "gpus": gpus,
        "reasons": list(none),
        "points": [point.as_json() for point in points],
        "assumptions": list(cluster.assumptions),
        "warnings": list(cluster.warnings),
    }
    lines = [_point(point) for point in points] or [f"{job.name}: {reason}" for reason in none]
    _print(answer if options.json else None, lines)
    return OK if points else DOES_NOT_FIT


def _point(point: Served) -> str:
    split = ", ".join(f"{n} {v}" for n, v in point.layout.as_json().items() if v not in (0, 1))
    return (
        f"{1e3 * point.token_s:7.1f} ms a token, {point.tokens_per_s_per_user:6.1f} tokens/s for "
        f"one, {point.tokens_per_s_per_gpu:8.1f} tokens/s/GPU, first after "
        f"{1e3 * point.first_token_s:.0f} ms: {split.removesuffix(', recompute none')}"
    )


def _collective(options: argparse.Namespace) -> int:
    kind = Fields({"kind": options.kind}).text("kind", KINDS) or ""
    cluster = _read_cluster(options)
    ranks = _whole(options.ranks, "ranks", 1_000_000)
    size = Fields({"bytes": _required(options.bytes, "bytes")}).number("bytes", 0, MOST_BYTES)
    size = size or 0.0
    apart = unjoined(cluster, ranks)
    if apart:
        raise FieldError("ranks", f"{apart}.")
    g = group(cluster, float(ranks), alone=True)
    legal = legal_times(cluster, kind, size, g)
    algorithm = min(legal, key=lambda name: legal[name]) if ranks > 1 else "none"
    took = legal[algorithm] if ranks > 1 else 0.0
    answer = {
        "cluster": cluster.name,
        "kind": kind,
        "algorithm": algorithm,
        "bytes": size,
        "ranks": ranks,
        "time_s": took,
        "bus_gbytes_per_s": bus_bytes_per_s(kind, size, ranks, took) / GIGA,
        "algorithms": legal if ranks > 1 else {},
        "measured_curve": float(correction(cluster, kind, size, g)) != 1.0,
        "assumptions": list(cluster.assumptions),
        "warnings": list(cluster.warnings),
    }
    words = (
        f"{kind} of {size:g} B over {ranks} ranks of {cluster.name}: {took * 1e6:.1f} us by "
        f"{algorithm}, bus bandwidth {answer['bus_gbytes_per_s']:.1f} GB/s"
    )
    _print(answer if options.json else None, [words])
    return OK


def _nccl(options: argparse.Namespace) -> int:
    kind = Fields({"collective": options.collective}).text("collective", NAMES.values())
    fields, nodes = _cluster_given(options)[0], options.nodes
    try:
        run = read_run(_pasted(options.file), kind)
    except BadPaste as bad:
        raise FieldError("file", str(bad)) from None
    held = check_run(run, fields, None if nodes is None else _whole(nodes, "nodes", 1_000_000))
    said = [*(str(each) for each in run.inferred), *map(_with_line, sentences(held))]
    _print(verdict(held) if options.json else None, [*said, *map(_with_line, run.problems)])
    return CONTRADICTED if contradictions(held) else OK


def _with_line(said: Said) -> str:
    return f"{said}" if said.line is None else f"line {said.line}: {said}"


def _pasted(given: str) -> str:
    """The text of a file, or of stdin; no more of it than is ever read."""
    try:
        if given == "-":
            return sys.stdin.read(MOST_CHARACTERS + 1)
        with Path(given).open(encoding="utf-8", errors="replace") as file:
            return file.read(MOST_CHARACTERS + 1)
    except (OSError, ValueError):
        raise FieldError("file", "cannot be read.") from None


def _validate(options: argparse.Namespace) -> int:
    if "\0" in options.file:
        raise FieldError("file", "is no name of a file.")
    report = validate(Path(options.file))
    if options.json:
        _print(report, [])
        return OK
    lines = [f"all: {_figures(report['summary'])}", _weighted(report)]
    lines += [f"{g['by']} {g['group']}: {_figures(g)}" for g in report["groups"]]
    reasons: dict[str, int] = {}
    for row in report["skipped"]:
        reasons[row["reason"]] = reasons.get(row["reason"], 0) + 1
    lines.append(f"not predicted: {len(report['skipped'])}")
    lines += [f"  {count} × {reason}" for reason, count in sorted(reasons.items())]
    _print(None, lines)
    return OK


def _weighted(report: Mapping[str, Any]) -> str:
    """What stands beside the plain figures: sources of one weight, coverage, outliers."""
    weighted, plain = report["source_weighted"], report["summary"]
    if not plain["n"]:
        return "coverage: no rows"
    return (
        f"each of {weighted['sources']} sources alike: median |error| "
        f"{weighted['median_abs_error']:.1%}, p90 {weighted['p90_abs_error']:.1%}; coverage "
        f"{plain['coverage']:.1%} of the rows that state enough; "
        f"outliers listed: {', '.join(each['id'] for each in report['outliers']) or 'none'}"
    )


def _figures(s: Mapping[str, Any]) -> str:
    if not s["n"]:
        return "no rows"
    tau = "" if s["kendall_tau"] is None else f", τ {s['kendall_tau']:.2f}"
    return (
        f"n {s['n']}, median |error| {s['median_abs_error']:.1%}, p90 {s['p90_abs_error']:.1%}, "
        f"worst {s['worst']:+.1%}, bias {s['bias']:+.1%}{tau}"
    )


# ------------------------------------------------------------------ output


def _print(answer: Mapping[str, Any] | None, lines: Sequence[str]) -> None:
    """The answer as JSON, or the lines where there is none."""
    text = "\n".join(lines)
    if answer is not None:
        text = json.dumps(answer, indent=2, ensure_ascii=False, allow_nan=False)
    print(text, flush=True)


def _words(answer: Estimate | DoesNotFit) -> str:
    """An estimate as a paragraph: what, how, where the time goes, how sure."""
    head = f"{answer.job} on {answer.gpus} GPUs of {answer.cluster}"
    if isinstance(answer, DoesNotFit):
        return f"{head}: does not fit.\n  " + "\n  ".join(answer.reasons)
    layout = answer.layout.as_json()
    split = ", ".join(f"{name} {value}" for name, value in layout.items())
    shares = sorted(answer.time.items(), key=lambda item: -item[1])
    where = ", ".join(
        f"{name.removesuffix('_s').replace('_', ' ')} {seconds / answer.step_time_s:.1%}"
        for name, seconds in shares
        if seconds > 5e-4 * answer.step_time_s
    )
    tokens = answer.tokens_per_s_per_gpu
    rate = "" if tokens is None else f", {tokens:,.0f} tokens/s/GPU"
    low, high = f"{answer.low_s:.4g}", f"{answer.high_s:.4g}"
    speed = f"{answer.step_time_s:.4g} s a step ({low} to {high}){rate}"
    scaling = f"scaling efficiency {answer.scaling_efficiency:.2f} ({answer.scaling})"
    return "\n  ".join(
        [
            f"{head}: {speed}, MFU {answer.mfu:.1%} of {answer.precision}",
            f"layout: {split}",
            f"time: {where}; limited by {answer.limited_by}",
            f"memory: {answer.memory}",
            f"{scaling}, fabric efficiency {answer.fabric_efficiency:.2f}",
            *(f"assumed: {note}" for note in answer.assumptions),
            *(f"warning: {note}" for note in answer.warnings),
        ]
    )
