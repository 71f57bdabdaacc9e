"""The cost model: what a job costs on a cluster, from links and kernels up. numpy and Python only.

Read it in this order; each module uses only those above it.

    units         SI, and one arithmetic for a number and for a column of numbers
    fields        reading a mapping from outside; the one exception of the package
    constants     the calibrated constants of constants.toml, typed
    gpus          a GPU: memory and peaks (gpus.toml)
    cluster_facts  what is said of a cluster, checked; what stands in for the unknown
    hardware      a cluster: nodes, domains, fabric (clusters.toml); unknown facts and their reach
    groups        ranks that communicate, and how the links divide them
    algorithms    what moving bytes costs: base + steps·hop + x + √(ramp·steps·x)
    curves        measured times of collectives (curves.toml), and how they draw the formulas
    collectives   the choice among algorithms; bus bandwidth
    kernels       what computing costs: flop / (peak · efficiency of the shape)
    engines       what serving software adds: floors of kernels, the host (serving.toml)
    transformers  the shape of a model (transformers.toml): parameters, flop of a token
    workload      a job (jobs.toml): what one step does
    goodput       the share of rented time that makes progress
    refusals      what no answer is given to, whichever door asks
    layout        every split of a job over GPUs that divides
    memory        what one GPU must hold, by term
    compute       what a training step computes on one GPU
    traffic       what it sends, and how much of it shows
    training      the time of a training step, by term
    search        the fastest layout that fits, all candidates at once
    formats       how a served model is stored, and in which precision it is multiplied
    prefill       the time to read a prompt
    decode        the time of an output token, and what it takes of memory
    replicas      every split of a served model that fits, and the best
    serving       continuous batching: first token, throughput, Pareto curve, two pools
    custom        codes of flop, bytes and messages
    crossing      what leaves an island of GPUs in a step
    answers       an estimate, or why it does not fit; dollars
    estimate      the questions: estimate, best, search, rank
    what_if       other networks, and what the better one is worth
    accuracy      errors of published measurements, as kept for the answers
    network_choice  InfiniBand or Ethernet, at several counts
    sizing        the fewest GPUs that are fast enough
    scaling_runs  what a GPU kept of its throughput, where somebody measured several counts
    machines      the machine that a measured row names
    examples      a complete cluster and job
    measured_runs  the words of a measured training run
    measured_shapes  the model that a measured row names
    measured_software  the software that a measured row ran
    measured_collectives  rows of collectives as questions to the model
    measured_serving  rows of serving as questions to the model
    measured      rows of published measurements as questions to the model
    validation    errors over many rows
    held          measurements of collectives that others published (between_nodes.csv)
    said          a sentence, its figures apart
    nccl_log      what NCCL says of itself: which links it uses
    nccl_rows     the rows that nccl-tests prints
    nccl_tests    the output of nccl-tests, read back and its arithmetic checked
    nccl_check    a run held against line rate, the model and what others measured
    nccl_words    what came of it, in sentences
    cli           python -m scoring

Symbols: T tokens of a micro-batch, h hidden, f inner width, a heads, L layers, V vocabulary, n
ranks, M domains, m micro-batches, v interleave; tp, pp, dp, cp, ep the splits.
"""

# `estimate` and `search` are functions here; `from scoring.estimate import ...` finds the modules.
from scoring.accuracy import error_ranges, measured_error, measured_errors, measured_groups
from scoring.answers import DoesNotFit, Estimate, usd_lost_to_waiting_per_hour, usd_per_mtoken
from scoring.collectives import collective_time, expected_bus, group
from scoring.constants import GOODPUT, MODEL_VERSION, Reliability
from scoring.estimate import best, estimate, rank, search, whole_nodes
from scoring.fields import FieldError
from scoring.goodput import Goodput, goodput, reliability
from scoring.gpus import Gpu, gpu
from scoring.hardware import Cluster, cluster, cluster_fields, clusters, unknown_facts
from scoring.layout import Layout
from scoring.nccl_check import BadRun, Held, check_run
from scoring.nccl_rows import BadPaste
from scoring.nccl_tests import NAMES as NCCL_TESTS
from scoring.nccl_tests import Run, read_run
from scoring.nccl_words import contradictions, sentences, verdict
from scoring.network_choice import choices as networks
from scoring.said import Said
from scoring.scaling_runs import scaling_runs
from scoring.serving import Served, pareto, serve
from scoring.sizing import Size, fewest_gpus, replica_gpus
from scoring.transformers import Transformer
from scoring.validation import validate
from scoring.what_if import SCENARIOS, Changed, changed, scenarios, supposing
from scoring.workload import Job, job, job_fields, jobs

__all__ = [
    "GOODPUT",
    "MODEL_VERSION",
    "NCCL_TESTS",
    "SCENARIOS",
    "BadPaste",
    "BadRun",
    "Changed",
    "Cluster",
    "DoesNotFit",
    "Estimate",
    "FieldError",
    "Goodput",
    "Gpu",
    "Held",
    "Job",
    "Layout",
    "Reliability",
    "Run",
    "Said",
    "Served",
    "Size",
    "Transformer",
    "best",
    "changed",
    "check_run",
    "cluster",
    "cluster_fields",
    "clusters",
    "collective_time",
    "contradictions",
    "error_ranges",
    "estimate",
    "expected_bus",
    "fewest_gpus",
    "goodput",
    "gpu",
    "group",
    "job",
    "job_fields",
    "jobs",
    "measured_error",
    "measured_errors",
    "measured_groups",
    "networks",
    "pareto",
    "rank",
    "read_run",
    "reliability",
    "replica_gpus",
    "scaling_runs",
    "scenarios",
    "search",
    "sentences",
    "serve",
    "supposing",
    "unknown_facts",
    "usd_lost_to_waiting_per_hour",
    "usd_per_mtoken",
    "validate",
    "verdict",
    "whole_nodes",
]
