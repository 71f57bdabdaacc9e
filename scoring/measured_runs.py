"""The words of a measured training run: its metric, how states are sharded, what is recomputed."""

import re
from dataclasses import dataclass

from scoring.machines import CannotPredict

RATES = (
    ("tokens", r"tok(en)?s?\b"),
    ("samples", r"(samples?|sequences?|seqs?|examples?)\b"),
    ("flop", r"[tpe]?flops?\b"),
    ("utilisation", r"[mh]fu\b"),
)
PREFIXES = {"t": 1e12, "p": 1e15, "e": 1e18}
OF_ALL = re.compile(r"\b(total|aggregate[d]?|system|cluster|overall|whole)\b")


@dataclass(frozen=True, slots=True)
class Metric:
    """What a number of a run counts: of a step, or of a second and perhaps of one GPU."""

    counts: str  # seconds, tokens, samples, flop, utilisation
    unit: float  # how many seconds, flop, or of 1 one of it is
    per_gpu: bool = False
    hardware: bool = False  # flop that were recomputed are counted

    @property
    def is_rate(self) -> bool:
        """True where more is faster."""
        return self.counts != "seconds"


def metric_of(name: str) -> Metric:
    """The metric of a name: "tokens/s/GPU", "step_time_ms", "model TFLOP/s/GPU", "MFU%".

    Raises
    ------
    CannotPredict
        For a time to train, a metric that no step has, and a utilisation without its unit.
    """
    text = re.sub(r"[_\s]+", " ", name.lower())
    if "to train" in text:
        raise CannotPredict("time to train: samples to converge are not stated")
    if re.search(
        r"(step|iter(ation)?) ?(time|s\b|ms\b)|(s|sec|seconds|ms) ?(/|per) ?(step|it)", text
    ):
        return Metric("seconds", 1e-3 if re.search(r"\bms\b|millisec", text) else 1.0)
    per_gpu = bool(re.search(r"(/|per) ?(gpu|device|chip|accelerator|card)", text))
    hardware = bool(re.search(r"\bhfu\b|hardware", text))
    counts = next((kind for kind, words in RATES if re.search(words, text)), None)
    if counts is None or (counts in ("tokens", "samples") and not re.search(r"/ ?s|per ?s", text)):
        raise CannotPredict(f"metric {name} is not modelled")
    unit = 1.0
    if counts == "flop":
        prefix = re.search(r"([tpe])flop", text)
        unit = PREFIXES[prefix[1]] if prefix else 1.0
        # "TFLOPs" is told of one GPU; a thousand times that, unless it says so, of all of them.
        per_gpu = per_gpu or (unit < PREFIXES["p"] and not OF_ALL.search(text))
    if counts == "utilisation":
        if not re.search(r"%|pct|percent", text):
            raise CannotPredict("utilisation without its unit")
        unit = 0.01
    return Metric(counts, unit, per_gpu, hardware)


def zero_stage(text: str) -> float | None:
    """The stage of sharding that words name: "FSDP2 (zero3)", "ZeRO-2", "HSDP", "DDP", "1"."""
    words = text.lower()
    if not words.strip():
        return None
    said = re.search(r"(?:zero|stage)[-_ ]*([0-3])|^\s*([0-3])(?:\.0)?\s*$", words)
    if said:
        return float(said[1] or said[2])
    if re.search(r"shard[_ ]grad[_ ]op", words):
        return 2.0
    if re.search(r"fsdp\s*[=:]\s*0|no[_ ]shard|\bddp\b|none", words):
        return 0.0
    if re.search(r"fsdp|hsdp|full[_ ]shard|hybrid[_ ]shard|fully sharded", words):
        return 3.0
    return 1.0 if "distributed optimizer" in words else 0.0


def zero_group(text: str, node: int) -> float:
    """Ranks that share sharded states; 0 for all. Hybrid sharding stays within a node by habit."""
    words = text.lower()
    said = re.search(r"shard(?:ing)?[_ ]*(?:group|size|degree)?\s*=\s*(\d+)", words)
    if said:
        return float(said[1])
    return float(node) if re.search(r"hsdp|hybrid[_ ]shard", words) else 0.0


def recompute_of(text: str) -> str | None:
    """none, selective or full as the words say; None where they are absent or say another thing."""
    words = text.strip().lower()
    if re.match(r"(none|no|off|false|0)\b", words):
        return "none"
    if re.match(r"(full|uniform)\b", words):
        return "full"
    return "selective" if re.match(r"(selective|core[_ ]attn|attention|attn)", words) else None


def says(word: str, text: str) -> bool:
    """True where a text names a thing and does not deny it: "LoRA r=16", but not "no LoRA".

    `word` is a pattern; it stands alone, so that "Explora-8B" is no LoRA.
    """
    denied = r"\b(no|not|non|without|w/o)[ -]+(a[ -]+)?$"
    for found in re.finditer(
        rf"(?<![a-z]){word}(?![a-z])(\s*[=:]\s*(no|off|false|none|0)\b)?", text.lower()
    ):
        if not found[1] and not re.search(denied, text.lower()[: found.start()]):
            return True
    return False
