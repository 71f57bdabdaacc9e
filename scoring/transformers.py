"""A transformer's shape: its parameters, and the flop of a token. Dense or a mixture of experts.

Public shapes stand in transformers.toml, each with its source; sizes are counts and flop, and
nothing here knows about GPUs.

References
----------
D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
Megatron-LM," SC 2021. arXiv:2104.04473: parameters and flop of a dense transformer.
DeepSeek-AI, arXiv:2412.19437, section 2.1: multi-head latent attention.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from scoring.constants import data_file
from scoring.fields import FieldError, Fields
from scoring.units import Value, minimum

SHAPE_FIELDS = (
    "layers",
    "hidden",
    "ffn_hidden",
    "heads",
    "kv_heads",
    "head_dim",
    "v_head_dim",
    "kv_width",
    "q_rank",
    "vocab",
    "gated",
    "experts",
    "topk",
    "moe_layers",
    "dense_ffn_hidden",
    "shared_ffn_hidden",
    "tied_embeddings",
    "full_layers",
    "window",
    "state_width",
    "attended",
    "attention_layers",
    "ssm_layers",
    "ssm_width",
    "ssm_state",
    "ssm_groups",
    "latent",
    "mtp_layers",
)


# What a name adds that changes no shape: how the weights were tuned or stored, and when.
ENDINGS = re.compile(
    r"[-_ ]*\b(base|instruct|chat|it|hf|thinking|preview|pretrain(ing)?|sft|lora|"
    r"bf16|[mn][xv]fp[48]|fp[48]|v0\.\d|\d{4})$"
)


@dataclass(frozen=True, slots=True)
class Transformer:
    """A decoder, dense or a mixture of experts. Widths in elements."""

    name: str
    layers: int
    hidden: int
    ffn_hidden: int  # of one MLP; of one expert in a mixture
    heads: int
    kv_heads: int
    head_dim: int
    v_head_dim: int
    vocab: int
    gated: bool = False
    experts: int = 0
    topk: int = 0
    moe_layers: int = 0
    dense_ffn_hidden: int = 0  # of the layers that are not mixtures
    shared_ffn_hidden: int = 0
    kv_width: int = 0  # compressed attention: cached numbers per token and layer
    q_rank: int = 0
    tied_embeddings: bool = False
    full_layers: int = 0  # whose attention sees the whole context; 0 = all of them
    window: int = 0  # tokens that attention of the other layers sees
    state_width: int = 0  # numbers that a sequence keeps in each of them, however long it is
    # Where mixers and MLPs are layers of their own: how many attend, how many hold a state instead.
    attention_layers: int = 0
    ssm_layers: int = 0
    ssm_width: int = 0  # inner width of a state-space layer
    ssm_state: int = 0  # numbers that each element of it keeps
    ssm_groups: int = 0  # that share the two projections into the state
    mtp_layers: int = 0  # that training adds to predict a second token, with a head of their own
    latent: int = 0  # what routed experts read and write; 0 = hidden
    attended: int = 0  # tokens that an index picks for each query; 0 = attention sees them all

    @property
    def mlp_matrices(self) -> int:
        """3 for a gated MLP, else 2."""
        return 3 if self.gated else 2

    @property
    def dense_layers(self) -> int:
        """Layers whose MLP is not a mixture."""
        return self.layers - self.moe_layers - self.attention_layers - self.ssm_layers

    @property
    def attention_share(self) -> float:
        """Share of the layers that attend: all, or those that are nothing but attention."""
        return (self.attention_layers or self.layers) / self.layers

    @property
    def ssm_share(self) -> float:
        """Share of the layers that are a state-space mixer."""
        return self.ssm_layers / self.layers

    @property
    def blocks(self) -> float:
        """Residual blocks of a layer: 2, or 1 where mixers and MLPs are layers of their own."""
        mlps = (self.dense_layers + self.moe_layers) / self.layers
        return self.attention_share + self.ssm_share + mlps

    @property
    def expert_width(self) -> int:
        """What one copy of a token is for a routed expert. [elements]"""
        return self.latent or self.hidden

    @property
    def ssm_inputs(self) -> int:
        """What a state-space layer makes of a token: values, their gate, and two projections."""
        return 2 * (self.ssm_width + self.ssm_groups * self.ssm_state)

    @property
    def q_width(self) -> int:
        """Queries of all heads. [elements per token]"""
        return self.heads * self.head_dim

    @property
    def kv_cached(self) -> int:
        """Numbers that one token leaves in the cache of one layer."""
        return self.kv_width or self.kv_heads * (self.head_dim + self.v_head_dim)

    @property
    def whole_layers(self) -> int:
        """Layers whose attention sees the whole context."""
        return self.full_layers or self.layers

    def cached(self, tokens: Value) -> Value:
        """Numbers that a sequence of `tokens` keeps in all layers: its cache, and fixed states."""
        others = self.layers - self.whole_layers
        seen = self.whole_layers * tokens + others * minimum(tokens, float(self.window))
        return self.kv_cached * seen + others * self.state_width

    @property
    def attention_parameters(self) -> int:
        """Weights of one layer's attention, or of the mixer in its place, averaged over layers."""
        mixers = self.hidden * (self.ssm_inputs + self.ssm_width)
        return round(self.attention_share * self._attention + self.ssm_share * mixers)

    @property
    def _attention(self) -> int:
        out = self.heads * self.v_head_dim * self.hidden
        if self.kv_width:  # multi-head latent attention: down and up projections
            rotary = self.head_dim - self.v_head_dim
            rank = self.kv_width - rotary
            up = rank * self.heads * 2 * self.v_head_dim
            queries = self.q_rank * (self.hidden + self.q_width)
            return queries + self.hidden * self.kv_width + up + out
        kv = self.kv_heads * (self.head_dim + self.v_head_dim)
        return self.hidden * (self.q_width + kv) + out

    @property
    def dense_mlp_parameters(self) -> int:
        """Weights of one dense layer's MLP."""
        width = self.dense_ffn_hidden or self.ffn_hidden
        return self.mlp_matrices * self.hidden * width

    @property
    def expert_parameters(self) -> int:
        """Weights of one expert."""
        return self.mlp_matrices * self.expert_width * self.ffn_hidden

    @property
    def shared_parameters(self) -> int:
        """Weights of one mixture layer that every token visits, router included."""
        shared = self.mlp_matrices * self.hidden * self.shared_ffn_hidden
        return shared + self.hidden * (self.experts + 2 * self.latent)

    @property
    def embedding_parameters(self) -> int:
        """Weights of the token embedding; the output projection has as many unless tied."""
        return self.vocab * self.hidden

    @property
    def non_expert_parameters(self) -> int:
        """All weights but those of routed experts."""
        norms = 4 * self.hidden
        embeddings = self.embedding_parameters * (1 if self.tied_embeddings else 2)
        return (
            self.layers * (self.attention_parameters + norms)
            + self.dense_layers * self.dense_mlp_parameters
            + self.moe_layers * self.shared_parameters
            + embeddings
        )

    @property
    def routed_parameters(self) -> int:
        """Weights of all routed experts."""
        return self.moe_layers * self.experts * self.expert_parameters

    @property
    def parameters(self) -> int:
        """All weights."""
        return self.non_expert_parameters + self.routed_parameters

    @property
    def active_parameters(self) -> int:
        """Weights that one token meets in GEMMs: no embedding lookup."""
        lookup = 0 if self.tied_embeddings else self.embedding_parameters
        return (
            self.non_expert_parameters
            - lookup
            - 4 * self.hidden * self.layers
            + self.moe_layers * self.topk * self.expert_parameters
        )

    def forward_flop_per_token(self, seq_len: float) -> float:
        """GEMM and causal attention flop of a forward pass, attention counted at half. [flop]

        2 · active parameters + s · heads · (d + d_v) per layer; the usual 6 N + 6 L h s of a
        training step is three times it. A state-space layer updates and reads its state: 6 flop for
        each number of it.
        """
        attending = self.attention_layers or self.layers
        attention = attending * seq_len * self.heads * (self.head_dim + self.v_head_dim)
        states = 6.0 * self.ssm_layers * self.ssm_width * self.ssm_state
        return 2.0 * self.active_parameters + attention + states

    @classmethod
    def read(cls, f: Fields, name: str, base: Mapping[str, object]) -> "Transformer":
        """The shape from the fields of a job, completed by a known model's; see `SHAPE_FIELDS`."""
        given = {key: f.raw(key) for key in SHAPE_FIELDS}
        shape = {**base, **{key: value for key, value in given.items() if value is not None}}
        s = Fields(shape, typed=f.typed)
        missing = [k for k in ("layers", "hidden", "heads", "vocab") if not s.has(k)]
        if missing:
            raise FieldError(missing[0], "must be given, or `model` must name a known shape.")
        layers = s.whole("layers", 1, 10_000) or 1
        hidden = s.whole("hidden", 1, 1_000_000) or 1
        heads = s.whole("heads", 1, 10_000) or 1
        ffn = s.whole("ffn_hidden", 1, 10_000_000) or 4 * hidden
        experts = s.whole("experts", 0, 100_000) or 0
        experts = 0 if experts == 1 else experts
        topk = s.whole("topk", 0, 10_000) or 0
        if experts and not 1 <= topk <= experts:
            raise FieldError("topk", f"must be from 1 to {experts}, the number of experts.")
        head_dim = s.whole("head_dim", 1, 65_536) or max(hidden // heads, 1)
        kv_heads = s.whole("kv_heads", 1, 10_000) or heads
        if heads % kv_heads:
            raise FieldError("kv_heads", f"must divide heads ({heads}), not {kv_heads}.")
        gated = s.truth("gated")
        moe_layers = s.whole("moe_layers", 0, layers)
        return cls(
            name=name,
            layers=layers,
            hidden=hidden,
            ffn_hidden=ffn,
            heads=heads,
            kv_heads=kv_heads,
            head_dim=head_dim,
            v_head_dim=s.whole("v_head_dim", 1, 65_536) or head_dim,
            vocab=s.whole("vocab", 1, 10_000_000) or 1,
            # Grouped queries came with gated MLPs in every public model that has them.
            gated=kv_heads < heads if gated is None else gated,
            experts=experts,
            topk=topk if experts else 0,
            moe_layers=0 if not experts else layers if moe_layers is None else moe_layers,
            dense_ffn_hidden=s.whole("dense_ffn_hidden", 0, 10_000_000) or 0,
            shared_ffn_hidden=s.whole("shared_ffn_hidden", 0, 10_000_000) or 0,
            kv_width=s.whole("kv_width", 0, 1_000_000) or 0,
            q_rank=s.whole("q_rank", 0, 1_000_000) or 0,
            tied_embeddings=bool(s.truth("tied_embeddings")),
            full_layers=s.whole("full_layers", 0, layers) or 0,
            window=s.whole("window", 0, 100_000_000) or 0,
            state_width=s.whole("state_width", 0, 100_000_000) or 0,
            attention_layers=s.whole("attention_layers", 0, layers) or 0,
            ssm_layers=s.whole("ssm_layers", 0, layers) or 0,
            ssm_width=s.whole("ssm_width", 0, 1_000_000) or 0,
            ssm_state=s.whole("ssm_state", 0, 1_000_000) or 0,
            ssm_groups=s.whole("ssm_groups", 0, 10_000) or 0,
            mtp_layers=s.whole("mtp_layers", 0, layers) or 0,
            latent=s.whole("latent", 0, 1_000_000) or 0,
            attended=s.whole("attended", 0, 100_000_000) or 0,
        )


@cache
def shapes() -> Mapping[str, Mapping[str, object]]:
    return data_file("transformers.toml")


def shape_fields(slug: str) -> Mapping[str, object]:
    return {k: v for k, v in shapes()[slug].items() if k in SHAPE_FIELDS}


def shape(slug: str) -> Transformer:
    """The public model of a slug of transformers.toml."""
    return Transformer.read(Fields({}), slug, shape_fields(slug))


def known_shape(title: str) -> str | None:
    """The slug of the public model that a measured row names, however it is spelled, or None."""
    name = title.lower().replace("×", "x").split(" (", maxsplit=1)[0].strip()
    while name:
        found = _names().get(_bare(name)) or _names().get(_bare(name.rpartition("/")[2]))
        shorter = ENDINGS.sub("", name)
        if found or shorter == name:
            return found
        name = shorter
    return None


@cache
def _names() -> Mapping[str, str]:
    """Every name of a shape, letters and digits only, and its slug."""
    names = {}
    for slug, table in shapes().items():
        aliases = table.get("aliases", [])
        for name in (slug, *(aliases if isinstance(aliases, list) else ())):
            names[_bare(name)] = slug
            names[_bare(name.rpartition("/")[2])] = slug
    return names


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
