"""The model and the number format that a measured row names."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace

from scoring.machines import CannotPredict, number
from scoring.transformers import Transformer, known_shape, shape, shapes
from scoring.units import GIGA


def shape_of_row(row: Mapping[str, str]) -> Transformer:
    """The stated shape; for public mixtures the model card's, whose expert widths rows confuse.

    Raises
    ------
    CannotPredict
        Where neither is there.
    """
    slug = known_shape(row.get("model_name", ""))
    if slug and (not number(row, "layers") or number(row, "experts")):
        known = shape(slug)
        return replace(known, mtp_layers=0) if "w/o MTP" in row["model_name"] else known
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
    if not size or experts:
        return stated
    # Two matrices or three: what comes nearer to the parameters that the row states.
    both = (stated, replace(stated, gated=not gated))
    return min(both, key=lambda shape: abs(math.log(shape.parameters / (size * GIGA))))


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
