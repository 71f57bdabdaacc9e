"""What is asked: a job on a transformer, or a custom code, and the flop that one step needs.

A `Job` says what is done: pre-training, LoRA fine-tuning, decoding, or a custom code of flop,
bytes and messages. Sizes are counts, bytes and flop; nothing here knows about GPUs.

References
----------
V. Korthikanti et al., "Reducing activation recomputation in large transformer models," MLSys
2023. arXiv:2205.05198: activations, model flop against hardware flop.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from scoring.collectives import KINDS as COLLECTIVE_KINDS
from scoring.constants import SOFTWARE, data_file
from scoring.engines import ENGINES
from scoring.fields import FieldError, Fields
from scoring.gpus import PRECISIONS
from scoring.transformers import Transformer, shape_fields, shapes

JOB_KINDS = ("train", "finetune_lora", "decode", "custom")
# Formats in which transformers are modelled, their memory among it. Wider ones are custom codes'.
MODEL_PRECISIONS = ("nvfp4", "fp8", "bf16", "fp16")
SCALINGS = ("fixed", "volume", "surface")
WEIGHT_BYTES = {"nvfp4": 0.5625, "fp8": 1.0, "bf16": 2.0, "fp16": 2.0, "tf32": 4.0, "fp64": 8.0}
# Formats in which weights alone are narrow and products are of 16 bits; with their scales.
WEIGHT_ONLY_BYTES = {"int4": 0.53125, "q4_k_m": 0.606, "int8": 1.0}
MAX_SEQ_LEN = 100_000_000  # tokens
MAX_BATCH = 100_000_000  # sequences of a step
MAX_DRAFTED = 16  # tokens guessed a step; engines guess 1 to 8


@dataclass(frozen=True, slots=True)
class Message:
    """What a custom job sends each step: `count` times `bytes` per GPU on one GPU of a pair.

    scaling: how `bytes`, given for one GPU that holds the whole problem, falls with n of them:
    fixed, volume (1/n) or surface (n^(−2/3), the faces of a cube).
    """

    kind: str
    bytes: float
    count: float
    scaling: str


@dataclass(frozen=True, slots=True)
class Job:
    """What one step does. Fields that a kind of job has no use for stay at their defaults."""

    name: str
    kind: str
    precision: str
    model: Transformer | None = None
    seq_len: int = 1  # train: tokens of a sequence; decode: context at each new token
    global_batch: int | None = None  # sequences of a step; decode: in flight, None = as many as fit
    micro_batch: int | None = None  # fixed by the user; None = searched
    recompute: str | None = None
    software: str = "megatron"
    attention: str | None = None  # kernel generation; None = the software's
    lora_rank: int = 0
    expert_imbalance: float | None = None
    scored_share: float = 1.0  # of the tokens meet the output projection: 0.15 where masked ones do
    prompt_len: int = 0
    max_tpot_ms: float | None = None
    output_len: int = 0  # decode: tokens of an answer; 0 = prompts are read apart
    weights: str | None = None  # decode: their format where they alone are narrow
    engine: str = "any"
    drafted: int = 0  # speculative decoding: tokens guessed a step, and
    accepted: float = 1.0  # tokens that a step yields in the mean, the sure one among them
    flop: float = 0.0
    hbm_bytes: float = 0.0
    memory_gb: float = 0.0
    messages: tuple[Message, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def transformer(self) -> Transformer:
        """The model of a transformer job.

        Raises
        ------
        TypeError
            For a custom job, which has none.
        """
        if self.model is None:
            raise TypeError(f"{self.name} is a {self.kind} job and has no transformer")
        return self.model

    @property
    def trains(self) -> bool:
        """True for pre-training and fine-tuning."""
        return self.kind in ("train", "finetune_lora")

    @property
    def tokens(self) -> float:
        """Tokens of one training step."""
        return float((self.global_batch or 0) * self.seq_len)

    @property
    def model_flop(self) -> float:
        """Model flop of one step of all GPUs: no recompute, causal attention at half. [flop]

        Three forward passes; LoRA has no gradients of frozen weights, so two.
        """
        if self.kind == "custom":
            return self.flop
        passes = {"train": 3.0, "finetune_lora": 2.0}[self.kind]
        return passes * self.tokens * self.transformer.forward_flop_per_token(self.seq_len)

    @property
    def trainable_parameters(self) -> float:
        """Weights that get a gradient: all, or LoRA's two thin matrices at each projection.

        rank · (in + out) of the four attention projections of each layer, as MLPerf's LoRA.
        """
        model = self.transformer
        if self.kind != "finetune_lora":
            return float(model.parameters)
        kv = model.kv_heads * model.head_dim
        ends = 2 * (model.hidden + model.q_width) + 2 * (model.hidden + kv)
        return float(self.lora_rank * ends * model.layers)

    @classmethod
    def from_fields(
        cls, given: Mapping[str, object], name: str = "job", *, typed: bool = False
    ) -> "Job":
        """A job from the names of measured rows and of jobs.toml; see `--example job`.

        Parameters
        ----------
        given
            kind (train, finetune_lora, decode, custom), then for a transformer: `model`, the slug
            of a known shape, or its fields; seq_len, global_batch, micro_batch, precision,
            activation_recompute, software, attention, lora_rank, expert_imbalance; for decoding
            prompt_len, output_len, max_tpot_ms, engine, weights, drafted_tokens and
            accepted_tokens (of speculative decoding, a step). For a custom job: flop, hbm_bytes,
            memory_gb of one step of the whole problem, and messages.
        typed
            Whether it is from JSON, where no text is a number.

        Raises
        ------
        FieldError
            Naming the field.
        """
        f = Fields({**given, **_spelled(given)}, typed=typed)
        kind = f.text("kind", JOB_KINDS) or "train"
        custom = kind == "custom"
        allowed = PRECISIONS if custom else MODEL_PRECISIONS
        precision = f.text("precision", allowed) or ("fp64" if custom else "bf16")
        f.text("title")
        for described in ("source", "name", "slug", "model_name", "params_b"):
            f.raw(described)
        if custom:
            job = cls._custom(f, name, precision)
        else:
            job = cls._transformer(f, name, kind, precision)
        f.finish()
        return job

    @classmethod
    def _custom(cls, f: Fields, name: str, precision: str) -> "Job":
        flop = f.number("flop", 0, 1e30)
        moved = f.number("hbm_bytes", 0, 1e24)
        if max(flop or 0, moved or 0) < 1:
            raise FieldError("flop", "or hbm_bytes must be given, and at least 1.")
        listed = f.raw("messages")
        listed = [] if listed is None else listed
        if not isinstance(listed, list) or len(listed) > 100:
            raise FieldError("messages", "must be a list of at most 100 tables.")
        return cls(
            name=name,
            kind="custom",
            precision=precision,
            flop=flop or 0.0,
            hbm_bytes=moved or 0.0,
            memory_gb=f.number("memory_gb", 0, 1e9) or 0.0,
            messages=tuple(
                _message(item, index, typed=f.typed) for index, item in enumerate(listed)
            ),
        )

    @classmethod
    def _transformer(cls, f: Fields, name: str, kind: str, precision: str) -> "Job":
        slug = f.text("model", shapes())
        model = Transformer.read(f, slug or name, shape_fields(slug) if slug else {})
        seq_len = f.whole("seq_len", 1, MAX_SEQ_LEN)
        if seq_len is None:
            raise FieldError("seq_len", "must be given.")
        batch = f.whole("global_batch", 1, MAX_BATCH)
        if batch is None and kind != "decode":
            raise FieldError("global_batch", "must be given.")
        micro = f.whole("micro_batch", 1, MAX_BATCH)
        if micro and batch and batch % micro:
            raise FieldError("micro_batch", f"must divide global_batch ({batch}), not {micro}.")
        rank = f.whole("lora_rank", 1, 65_536)
        drafted = f.whole("drafted_tokens", 0, MAX_DRAFTED) or 0
        accepted = f.number("accepted_tokens", 1, 1 + MAX_DRAFTED) or 1.0
        if accepted > 1 + drafted:
            raise FieldError("accepted_tokens", f"must be at most 1 + drafted_tokens ({drafted}).")
        return cls(
            name=name,
            kind=kind,
            precision=precision,
            model=model,
            seq_len=seq_len,
            global_batch=batch,
            micro_batch=micro,
            recompute=f.text("activation_recompute", ("none", "selective", "full")),
            software=f.text("software", SOFTWARE) or "megatron",
            attention=f.text("attention", ("none", "flash1", "flash2", "flash3")),
            lora_rank=(rank or 16) if kind == "finetune_lora" else 0,
            expert_imbalance=f.number("expert_imbalance", 1, 100),
            prompt_len=f.whole("prompt_len", 0, 100_000_000) or 0,
            max_tpot_ms=f.number("max_tpot_ms", 0.001, 1e6),
            output_len=f.whole("output_len", 0, 100_000_000) or 0,
            weights=f.text("weights", WEIGHT_ONLY_BYTES),
            engine=f.text("engine", ENGINES) or "any",
            drafted=drafted,
            accepted=accepted,
        )


# Words of measured rows and of recipes for what has one name here.
SPELLINGS = {
    "kind": {
        "infer": "decode",
        "inference": "decode",
        "pretrain": "train",
        "lora": "finetune_lora",
    },
    "precision": {
        "amp_bf16": "bf16",
        "half": "fp16",
        "amp_fp8": "fp8",
        "float8": "fp8",
        "mxfp8": "fp8",
        "fp4": "nvfp4",
    },
    "activation_recompute": {"no": "none"},
}


def _spelled(given: Mapping[str, object]) -> Mapping[str, object]:
    """The fields whose values have other spellings, in ours: "MXFP8" is fp8."""
    if not isinstance(given, Mapping):
        raise FieldError("job", "must be a table of named fields.")
    texts = {field: given.get(field) for field in SPELLINGS}
    lowered = {field: text.lower() for field, text in texts.items() if isinstance(text, str)}
    return {field: SPELLINGS[field].get(text, text) for field, text in lowered.items()}


def _message(given: object, index: int, *, typed: bool) -> Message:
    if not isinstance(given, Mapping):
        raise FieldError(f"messages[{index}]", "must be a table of kind, bytes, count, scaling.")
    f = Fields(given, where=f"messages[{index}]", typed=typed)
    kind = f.text("kind", COLLECTIVE_KINDS)
    size = f.number("bytes", 0, 1e18)
    if kind is None or size is None:
        raise FieldError(f.name("kind" if kind is None else "bytes"), "must be given.")
    count = f.number("count", 0, 1e9)
    scaling = f.text("scaling", SCALINGS) or "fixed"
    f.finish()
    return Message(kind, size, 1.0 if count is None else count, scaling)


@cache
def _reference() -> Mapping[str, Mapping[str, object]]:
    return data_file("jobs.toml")


def jobs() -> tuple[str, ...]:
    """Slugs of the reference jobs."""
    return tuple(_reference())


def job_fields(slug: str) -> Mapping[str, object]:
    """The fields of a reference job, as a job file would hold them.

    Raises
    ------
    FieldError
        For `job`, when there is no such slug.
    """
    known = Fields({"job": slug}).text("job", _reference())
    if known is None:  # an empty one
        raise FieldError("job", "must be given.")
    return _reference()[known]


@cache
def job(slug: str) -> Job:
    """A reference job by its slug, as `gpt3-175b-pretrain`."""
    return Job.from_fields(job_fields(slug), name=slug)
