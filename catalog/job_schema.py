"""A job, as JSON Schema: what `workload` of a question in JSON may be besides a preset's slug.

Where fields of a job bind each other (micro_batch divides global_batch, kv_heads divides heads, a
mixture has its experts) the schema leaves them out, and the service takes them where they fit:
`python -m scoring --example job` shows them all.
"""

from collections.abc import Iterable
from typing import Any

from catalog.questions import KINDS, MOST_MESSAGES
from scoring.algorithms import KINDS as COLLECTIVES
from scoring.constants import SOFTWARE
from scoring.engines import ENGINES
from scoring.gpus import PRECISIONS
from scoring.transformers import shapes
from scoring.workload import (
    JOB_KINDS,
    MAX_BATCH,
    MAX_SEQ_LEN,
    MODEL_PRECISIONS,
    SCALINGS,
    WEIGHT_ONLY_BYTES,
)

Json = dict[str, Any]
CUSTOM, DECODE = "custom", "decode"
MOST_TOKENS = 100_000_000


def _one_of(words: Iterable[str]) -> Json:
    return {"type": "string", "enum": list(words)}


def _whole(least: int, most: int) -> Json:
    return {"type": "integer", "minimum": least, "maximum": most}


def _number(least: float, most: float) -> Json:
    return {"type": "number", "minimum": least, "maximum": most}


def _any_of(*choices: Json) -> Json:
    """One at least of these fields, so."""
    return {"anyOf": [{"required": list(each), "properties": each} for each in choices]}


def or_null(kind: Json) -> Json:
    """The same, or null: what is not known."""
    if "const" in kind:
        return kind
    types = kind["type"] if isinstance(kind["type"], list) else [kind["type"]]
    nullable = kind | {"type": [*types, "null"]}
    return nullable | {"enum": [*kind["enum"], None]} if "enum" in kind else nullable


def _object(
    title: str, says: str, needed: list[str], properties: Json, kept: Iterable[str] = ()
) -> Json:
    """All but what is needed may be null, as if left out; `kept` is left out or a value."""
    return {
        "type": "object",
        "title": title,
        "description": says,
        "required": needed,
        "additionalProperties": False,
        "properties": {
            name: kind if name in (*needed, *kept) else or_null(kind)
            for name, kind in properties.items()
        },
    }


TRUTH: Json = {"type": ["boolean", "string"], "enum": [True, False, "yes", "no", "conditional"]}
TITLE: Json = {"type": "string", "maxLength": 500, "pattern": "^[^\\x00]*$"}
RUN: Json = {
    "seq_len": _whole(1, MAX_SEQ_LEN)
    | {"description": "Tokens of a sequence; decode: context at each new token"},
    "global_batch": _whole(1, MAX_BATCH)
    | {"description": "Sequences of a step; decode: in flight at once"},
    "precision": _one_of(MODEL_PRECISIONS),
    "activation_recompute": _one_of(("none", "selective", "full")),
    "software": _one_of(SOFTWARE),
    "attention": _one_of(("none", "flash1", "flash2", "flash3")),
    "lora_rank": _whole(1, 65_536),
    "expert_imbalance": _number(1, 100)
    | {"description": "Tokens of the fullest expert over the mean"},
    "prompt_len": _whole(0, MOST_TOKENS),
    "output_len": _whole(0, MOST_TOKENS),
    "max_tpot_ms": _number(0.001, 1e6) | {"description": "The most between two tokens of one user"},
    "engine": _one_of(ENGINES),
    "weights": _one_of(WEIGHT_ONLY_BYTES),
    "title": TITLE,
}
KIND = _one_of(kind for kind in JOB_KINDS if kind != CUSTOM)
SHAPE: Json = {
    "layers": _whole(1, 10_000),
    "hidden": _whole(1, 1_000_000),
    "heads": _whole(1, 10_000),
    "vocab": _whole(1, 10_000_000),
    "ffn_hidden": _whole(1, 10_000_000),
    "head_dim": _whole(1, 65_536),
    "gated": TRUTH,
    "tied_embeddings": TRUTH,
}
MESSAGE = _object(
    "Message",
    "What is sent each step: `bytes` per GPU, `count` times; by scaling, for one GPU that holds "
    "the whole problem (volume, surface), or whatever their count is (fixed)",
    ["kind", "bytes"],
    {
        "kind": _one_of(COLLECTIVES),
        "bytes": _number(0, 1e18),
        "count": _number(0, 1e9),
        "scaling": _one_of(SCALINGS),
    },
)
PRESET: Json = _one_of(KINDS) | {"title": "Preset", "description": "A slug of workloads/"}
CHANGED_PRESET = _object(
    "ChangedPreset",
    "A preset by its slug, and what of it is otherwise",
    ["slug"],
    {"slug": _one_of(slug for slug, kind in KINDS.items() if kind != CUSTOM), **RUN},
    ("seq_len", "global_batch"),  # a preset has them
)
JOB_OF_MODEL = _object(
    "JobOfModel",
    "A job on a model that is known by name",
    ["model", "seq_len"],
    {"kind": KIND, "model": _one_of(shapes()), **RUN},
) | _any_of({"global_batch": RUN["global_batch"]}, {"kind": {"const": DECODE}})
JOB_OF_SHAPE = _object(
    "JobOfShape",
    "A job on a dense transformer of this shape",
    ["layers", "hidden", "heads", "vocab", "seq_len"],
    {"kind": KIND, **SHAPE, **RUN},
) | _any_of({"global_batch": RUN["global_batch"]}, {"kind": {"const": DECODE}})
CUSTOM_JOB = _object(
    "CustomJob",
    "A code of another kind, by what one step of the whole problem takes",
    ["kind"],
    {
        "kind": {"const": CUSTOM},
        "flop": _number(0, 1e30),
        "hbm_bytes": _number(0, 1e24),
        "memory_gb": _number(0, 1e9),
        "precision": _one_of(PRECISIONS),
        "messages": {"type": "array", "maxItems": MOST_MESSAGES, "items": MESSAGE},
        "title": TITLE,
    },
) | _any_of({"flop": _number(1, 1e30)}, {"hbm_bytes": _number(1, 1e24)})
WORKLOAD: Json = {
    "anyOf": [PRESET, CHANGED_PRESET, JOB_OF_MODEL, JOB_OF_SHAPE, CUSTOM_JOB],
    "description": "A preset, a preset with changes, or a job in full. More fields than are listed "
    "are taken where they fit each other: `python -m scoring --example job` shows them",
}


def but(unwanted: str) -> Json:
    """What a workload may not be, where one of this kind cannot be asked about so."""
    slugs = [slug for slug, kind in KINDS.items() if kind == unwanted]
    named = {"type": "object", "required": ["kind"], "properties": {"kind": {"const": unwanted}}}
    based = {"type": "object", "required": ["slug"], "properties": {"slug": {"enum": slugs}}}
    return {"not": {"anyOf": [{"enum": slugs}, named, based]}}
