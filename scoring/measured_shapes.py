"""The model and the number format that a measured row names."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from scoring.machines import CannotPredict, number
from scoring.transformers import Transformer, known_shape, shape, shapes
from scoring.units import GIGA

# What a mixture is known by, and which of it a row must state.
FIGURES = ("layers", "hidden", "heads", "vocab", "experts", "topk")
ENOUGH_FIGURES = ("layers", "hidden", "experts", "topk")
MIXTURE_MISS = 0.1  # of ln parameters: published sizes count embeddings and towers differently


def shape_of_row(row: Mapping[str, str]) -> Transformer:
    """The stated shape; for a public mixture the model card's, for rows do not state all of it.

    Shared experts, dense layers and compressed attention have no column, and what stands for the
    width is now an expert's, now a dense layer's. So a mixture is known by its figures whatever it
    is called, or by its name; another must have the parameters that the row states.

    Raises
    ------
    CannotPredict
        Where there is neither, and for a mixture whose figures do not add up to its parameters.
    """
    known = _public(row)
    if known is not None:
        without = "w/o mtp" in f"{row.get('model_name', '')} {row.get('extra', '')}".lower()
        return replace(known, mtp_layers=0) if without else known
    layers, hidden = number(row, "layers"), number(row, "hidden")
    if not layers or not hidden:
        raise CannotPredict("shape not stated and not of a known model")
    heads = int(number(row, "heads") or max(hidden // 128, 1))
    kv_heads = int(number(row, "kv_heads") or heads)
    ffn = int(number(row, "ffn_hidden") or 4 * hidden)
    experts = int(number(row, "experts") or 0)
    gated = kv_heads < heads or ffn < 3.5 * hidden
    stated = Transformer(
        name=row.get("model_name", ""),
        layers=int(layers),
        hidden=int(hidden),
        ffn_hidden=ffn,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=max(int(hidden) // heads, 1),
        v_head_dim=max(int(hidden) // heads, 1),
        vocab=int(number(row, "vocab") or 50_257),
        gated=gated,
        experts=experts,
        topk=int(number(row, "topk") or 2) if experts else 0,
        moe_layers=int(layers) if experts else 0,
    )
    size = number(row, "params_b")
    if not size:
        return stated
    # What comes nearest to the parameters that the row states: two matrices or three; with a
    # shared expert or without.
    shared = (0, ffn) if experts else (0,)
    readings = [
        replace(stated, gated=three, shared_ffn_hidden=width)
        for three in (gated, not gated)
        for width in shared
    ]

    def miss(shape: Transformer) -> float:
        return abs(math.log(shape.parameters / (size * GIGA)))

    nearest = min(readings, key=miss)
    if experts and miss(nearest) > MIXTURE_MISS:
        raise CannotPredict("the stated mixture does not have the stated parameters")
    return nearest


def _public(row: Mapping[str, str]) -> Transformer | None:
    """The public model of a row that states no shape, or a mixture: by its figures, or its name.

    A mixture of a public name and fewer layers is that model, cut: its dense layers stay.
    """
    slug = known_shape(row.get("model_name", ""))
    named = shape(slug) if slug else None
    if not number(row, "layers"):
        return named
    if not number(row, "experts") and not (named and named.experts):
        return None
    differing = _differing(row, named) if named else None
    if differing == []:
        return named
    alike = [shape(each) for each in mixtures() if not _differing(row, shape(each))]
    if len(alike) == 1 and all(number(row, name) for name in ENOUGH_FIGURES):
        return alike[0]
    layers = int(number(row, "layers") or 0)
    if named and differing == ["layers"] and named.whole_layers == named.layers:
        dense = named.layers - named.moe_layers
        return replace(named, layers=layers, moe_layers=layers - dense) if layers > dense else None
    return None


def _differing(row: Mapping[str, str], model: Transformer) -> list[str]:
    """The stated figures of a row that are not a model's; some splits pad a vocabulary."""
    stated = ((name, number(row, name)) for name in FIGURES)
    return [
        name
        for name, value in stated
        if value and abs(value / max(getattr(model, name), 1) - 1.0) > (name == "vocab") * 0.02
    ]


@cache
def mixtures() -> tuple[str, ...]:
    """Slugs of the public mixtures."""
    return tuple(slug for slug in shapes() if shape(slug).experts)


WORD_PIECES = range(30_522, 30_593)  # the vocabulary of BERT and its kin, padded up to 64s


def is_encoder(row: Mapping[str, str]) -> bool:
    """True for a model that reads a sequence at once and guesses its masked words.

    By its vocabulary of word pieces where the row states one, else by the public model it names.
    """
    vocab = number(row, "vocab")
    slug = known_shape(row.get("model_name", ""))
    stated = vocab or (shapes()[slug].get("vocab") if slug else None)
    return stated in WORD_PIECES


def precision_of_row(row: Mapping[str, str]) -> tuple[str, bool]:
    """The GEMMs' precision, and whether the row states it.

    Raises
    ------
    CannotPredict
        For one that no transformer is modelled in: fp32, tf32, fp64, int8.
    """
    text = row.get("precision", "").lower()
    if "fp4" in text or "fp4" in row.get("extra", "").lower():
        return "nvfp4", True
    if re.search(r"fp8|float8|e4m3", text):
        return "fp8", "config" not in text
    if "config" in text:  # MLPerf from v3.0: tuned in fp8 where the GPU has it
        return "fp8", False
    if re.search(r"fp16|\bf(loat)?16\b|half", text):
        return "fp16", True
    if not text and "Megatron-Bridge" in row.get("framework", ""):
        return "fp8", False  # the column is blank where the page's table is of fp8 recipes
    if text and not re.search(r"\bbf(loat)?16\b|_bf16\b", text):
        raise CannotPredict("precision is not modelled")
    return "bf16", bool(text)
