"""Output of nccl-tests and rccl-tests, read back in the forms of all versions.

The figures of the published runs are those of their sources; hosts and processes are made up.
"""

import pytest

from scoring.collectives import bus_factor
from scoring.nccl_rows import BadPaste
from scoring.nccl_tests import read_run

GIB = 1 << 30
COLUMNS = {  # after `type`, by collective: today's, and those of nccl-tests before 2.12
    "today": {"all_reduce": "sum -1", "all_gather": "none -1", "sendrecv": "sum -1",
              "reduce_scatter": "sum -1", "alltoall": "none -1", "broadcast": "none 0"},
    "old": {"all_reduce": "sum", "all_gather": "", "sendrecv": "sum", "reduce_scatter": "sum",
            "alltoall": "", "broadcast": "0"},
}  # fmt: skip
OURS = {"sendrecv": "send_recv", "alltoall": "all_to_all"}
GATHERED = {"all_gather", "reduce_scatter", "alltoall"}  # whose count is of one rank


def header(ranks: int, hosts: int = 1, gpu: str = "NVIDIA H100 80GB HBM3", **more: str) -> str:
    """The devices, as today's versions list them."""
    each = ranks // hosts
    group = more.get("group", "Group  0 ")
    lines = [
        f"#  Rank {n:2d} {group}Pid {4000 + n:6d} on  node-{n // each} device  {n % each} "
        f"[0000:{n:02x}:00] {gpu}"
        for n in range(ranks)
    ]
    start = "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5"
    return "\n".join([start, "#", "# Using devices", *lines, "#"])


def row(test: str, ranks: int, size: int, us: float, version: str = "today", **wrong: str) -> str:
    """A row whose arithmetic is right: bandwidths of size over time, by hand."""
    count = size // 4 // (ranks if test in GATHERED else 1)
    algorithm = size / us / 1e3
    bus = algorithm * float(bus_factor(OURS.get(test, test), ranks))
    placement = f"{us:7.1f} {algorithm:7.2f} {bus:7.2f} {wrong.get('wrong', '0'):>6}"
    return f"{size:12d} {count:12d}   float {COLUMNS[version][test]:>12} {placement} {placement}"


def paste(test: str = "all_reduce", ranks: int = 16, hosts: int = 2, **more: str) -> str:
    """A whole output."""
    rows = [row(test, ranks, size, size / 2e5 + 40, **more) for size in (1 << 20, 1 << 26, GIB)]
    named = f"# Collective test starting: {test}_perf"
    return "\n".join([named, header(ranks, hosts), *rows, "# Out of bounds values : 0 OK"])


@pytest.mark.parametrize("version", COLUMNS)
@pytest.mark.parametrize("test", COLUMNS["today"])
def test_every_collective_is_read_in_the_columns_of_every_version(test, version):
    run = read_run(paste(test, version=version))
    assert (run.kind, run.ranks, run.nodes) == (OURS.get(test, test), 16, 2)
    assert [each.size for each in run.rows] == [1 << 20, 1 << 26, GIB]
    assert all(len(each.timings) == 2 for each in run.rows)
    assert (run.problems, run.inferred) == ((), ())


def test_a_launcher_may_put_anything_before_a_line():
    plain = paste()
    for before in ("[1,0]<stdout>:", "(head, rank=0, pid=3808) [1,0]<stdout>:", "0: ", "> ", "\t"):
        run = read_run("\n".join(before + line for line in plain.splitlines()))
        assert (run.ranks, run.nodes, run.problems) == (16, 2, ())
        assert [each.line for each in run.rows] == [each.line for each in read_run(plain).rows]


def test_a_published_run_of_8_a100_in_the_columns_of_2021():
    """microsoft/superbench, test of nccl_bw: all_gather of 8 A100-SXM4-40GB."""
    run = read_run(
        "# nThread 1 nGpus 8 minBytes 1 maxBytes 8589934592 step: 2(factor) validation: 0\n"
        "#   Rank  0 Pid 112372 on localhost device  0 [0x00] A100-SXM4-40GB\n"
        "#   Rank  7 Pid 112372 on localhost device  7 [0x00] A100-SXM4-40GB\n"
        "#       size         count    type     time   algbw   busbw  error\n"
        "         0          0 float  34.27    0.00    0.00 N/A  33.57    0.00    0.00 N/A\n"
        "1073741824   33554432 float 4413.4  243.29  212.88 N/A 4258.8  252.12  220.61 N/A\n"
        "8589934592  268435456 float  33646  255.31  223.39 N/A  32669  262.94  230.07 N/A\n",
        "all_gather",
    )
    assert (run.ranks, len(run.rows)) == (8, 2)  # a size of 0 tells nothing
    assert run.peak.bus_gbytes_per_s == 230.07
    assert not run.problems


def test_a_published_run_of_rccl_tests():
    """rocm.docs.amd.com, acceptance of MI300X: all_reduce of 8 on one machine."""
    run = read_run(
        "   build/all_reduce_perf -b 8 -e 8G -f 2 -g 8\n"
        "   rccl-tests: Version develop:ae3e635\n"
        "   # Rank 0 Pid 80 on here device 0 [0000:05:00.0] AMD Instinct MI300X\n"
        "   # Rank 7 Pid 80 on here device 7 [0000:e5:00.0] AMD Instinct MI300X\n"
        "   268435456 67108864 float sum -1 1546.5 173.58 303.76 0 1554.9 172.64 302.12 0\n"
        "   8589934592 2147483648 float sum -1 47488 180.88 316.55 0 47594 180.48 315.84 0\n"
        "   # Avg bus bandwidth : 102.138\n"
    )
    assert (run.kind, run.ranks, run.gpus) == ("all_reduce", 8, ("AMD Instinct MI300X",))
    assert run.largest.bus_gbytes_per_s == 316.55
    (problem,) = run.problems  # the rows between were left out here
    assert (problem.code, problem.line) == ("average", 7)


# --- What the paste does not say -----------------------------------------------------------------


def test_without_a_header_the_ranks_follow_from_the_two_bandwidths():
    for ranks in (2, 8, 16, 64):
        run = read_run(row("all_reduce", ranks, 8 * GIB, 2e4), "all_reduce")
        assert run.ranks == ranks, ranks
        assert [each.code for each in run.inferred] == ["ranks_by_factor"]


def test_ranks_that_two_decimals_cannot_tell_apart_are_not_guessed():
    with pytest.raises(BadPaste) as refused:
        read_run(row("all_reduce", 1024, 8 * GIB, 2e4), "all_reduce")
    assert refused.value.said.code == "ranks"


def test_without_a_header_a_gathered_size_tells_the_ranks():
    run = read_run(row("all_gather", 24, 24 * 4096, 90), "all_gather")
    assert (run.ranks, run.inferred[0].code) == (24, "ranks_by_count")


def test_without_a_name_an_all_reduce_is_told_by_its_factor():
    lines = f"{header(16, 2)}\n{row('all_reduce', 16, GIB, 5000)}"
    assert read_run(lines).kind == "all_reduce"
    lines = f"{header(16, 2)}\n{row('reduce_scatter', 16, GIB, 5000)}"
    assert read_run(lines).kind == "reduce_scatter"


def test_a_list_of_devices_that_was_cut_short_counts_to_its_end():
    lines = paste().splitlines()
    kept = [line for line in lines if "Rank" not in line or "Rank  0" in line or "Rank 15" in line]
    run = read_run("\n".join(kept))
    assert (run.ranks, run.nodes) == (16, None)  # hosts may have been cut out, too


def test_the_log_of_nccl_tells_ranks_and_nodes_where_no_device_is_listed():
    log = "a:1:2 [0] NCCL INFO comm 0x5a rank 1 nRanks 16 nNodes 4 localRanks 4 localRank 0 MNNVL 0"
    run = read_run(f"all_reduce_perf\n{log}\n{row('all_reduce', 16, GIB, 5000)}")
    assert (run.ranks, run.nodes) == (16, 4)


# --- What does not add up ------------------------------------------------------------------------


def problems(text: str) -> list[tuple[str, int | None]]:
    """The code and the line of each."""
    return [(each.code, each.line) for each in read_run(text).problems]


def changed(text: str, old: str, new: str) -> tuple[str, int]:
    """The text with one word replaced, and the line where."""
    at = next(n for n, line in enumerate(text.splitlines(), 1) if old in line)
    return text.replace(old, new, 1), at


def test_a_bandwidth_that_is_not_size_over_time_is_named_with_its_line():
    # 1 GiB in 5408.7 us are 198.52 GB/s, and by 2·15/16 busbw 372.23
    # the first of its two placements
    for old, new, code in ((" 198.52 ", " 298.52 ", "algbw"), (" 372.23 ", " 198.52 ", "busbw")):
        text, line = changed(paste(), old, new)
        assert (code, line) in problems(text)


def test_a_row_is_told_once_what_is_wrong_with_both_of_its_placements():
    text = paste().replace(" 372.23 ", " 198.52 ")
    line = next(n for n, each in enumerate(text.splitlines(), 1) if str(GIB) in each)
    assert problems(text) == [("busbw", line)]


def test_what_printing_rounds_off_is_no_problem():
    for us in (39.1, 412.3, 5961.9, 68195.0, 1.2e6):
        assert not problems(f"{header(16, 2)}\nall_reduce_perf\n{row('all_reduce', 16, GIB, us)}")


def test_wrong_values_are_said_whatever_else_is_fine():
    assert problems(paste(wrong="3"))[0][0] == "corrupt"
    assert not problems(paste(wrong="N/A"))
    assert not problems(paste(wrong="1e-06"))  # the largest error, as versions before 2.12 print


def test_an_average_of_rows_that_were_left_out_is_said():
    text = paste() + "\n# Avg bus bandwidth    : 12.5\n"
    assert problems(text) == [("average", len(text.splitlines()))]


def test_a_line_that_is_nearly_a_row_is_named_and_the_others_are_kept():
    text = paste().replace("# Out of", "     2097152  524288  float  sum  -1  12.3  oops\n# Out of")
    line = next(n for n, each in enumerate(text.splitlines(), 1) if "oops" in each)
    assert problems(text) == [("columns", line)]
    text = text.replace("oops", "170.0 x")
    assert problems(text) == [("figure", line)]
    assert len(read_run(text).rows) == 3


# --- What is no output of it ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "no_rows", None),
        ("hello\nworld", "no_rows", None),
        ("# Using devices\nh: Test CUDA failure common.cu:941 'x'", "failed", 2),
        ("1024 256 float sum -1 1 2", "columns", 1),
        (row("all_reduce", 1, GIB, 5000), "which", None),
        ("broadcast_perf\n" + row("broadcast", 8, GIB, 5000), "ranks", None),
        ("hypercube_perf\n" + row("all_reduce", 8, GIB, 5000), "test", 1),
        ("x" * 700_000, "long", None),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence_with_its_line(text, code, line):
    with pytest.raises(BadPaste) as refused:
        read_run(text)
    assert (refused.value.said.code, refused.value.said.line) == (code, line)


def test_tests_built_without_mpi_are_recognised():
    alone = header(1) + "\n" + row("all_reduce", 1, GIB, 5000)
    with pytest.raises(BadPaste, match="MPI=1") as refused:
        read_run(f"{alone}\n{alone}")
    assert refused.value.said.line == 10


def test_one_run_at_a_time():
    second = paste().replace("Rank ", "Rank 1")  # other ranks: not the mark of a build without MPI
    with pytest.raises(BadPaste, match="second run") as refused:
        read_run(f"{paste()}\n{second}")
    assert refused.value.said.line == len(paste().splitlines()) + 1


def without_devices(test="all_reduce"):
    """A whole output whose list of devices was left out."""
    return "\n".join(x for x in paste(test).splitlines() if "Rank" not in x and "nThread" not in x)


@pytest.mark.parametrize("second", ["all_reduce", "all_gather"])
def test_two_runs_without_their_devices_are_refused_where_the_second_begins(second):
    first = without_devices()
    begins = len(first.splitlines()) + 1
    with pytest.raises(BadPaste, match="second run") as refused:
        read_run(f"{first}\n{without_devices(second)}")
    assert refused.value.said.line == begins
    rows = [each for each in without_devices().splitlines() if " sum " in each]
    with pytest.raises(BadPaste, match="second run") as refused:
        read_run("\n".join(["all_reduce_perf", *rows, *rows]))
    assert refused.value.said.line == len(rows) + 2
    columns = "#       size         count      type   redop    root     time   algbw   busbw #wrong"
    larger = row("all_reduce", 16, 8 * GIB, 50_000)
    with pytest.raises(BadPaste, match="second run") as refused:
        read_run("\n".join(["all_reduce_perf", columns, *rows, columns, larger]))
    assert refused.value.said.line == len(rows) + 3


def test_a_collective_that_the_paste_names_otherwise_is_refused():
    with pytest.raises(BadPaste, match="all_gather was chosen") as refused:
        read_run(paste(), "all_gather")
    assert (refused.value.said.code, refused.value.said.line) == ("other_test", 1)
    assert read_run(paste(), "all_reduce").kind == "all_reduce"


@pytest.mark.parametrize(
    "end",
    [
        "node-1: Test NCCL failure all_reduce.cu:44 'remote process exited or there was an error'",
        "node-1: Test CUDA failure common.cu:941 'an illegal memory access was encountered'",
        "mpirun noticed that process rank 3 with PID 71 on node node-0 exited on signal 11",
        "one or more of the processes exited with non-zero status, thus causing the job to end",
    ],
)
def test_a_test_that_failed_after_its_rows_counts_for_nothing(end):
    text = f"{paste()}\n{end}"
    assert problems(text) == [("failed", len(text.splitlines()))]


def test_reading_takes_no_longer_than_the_text():
    for text in ("1 " * 250_000, "# Rank 0 " * 60_000, "1 1 float " * 50_000, "\n" * 500_000):
        with pytest.raises(BadPaste):
            read_run(text)
