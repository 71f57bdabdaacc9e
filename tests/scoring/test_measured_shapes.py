"""The model of a measured row: a mixture by its figures, whatever it is called."""

import pytest

from scoring.machines import CannotPredict
from scoring.measured_shapes import mixtures, shape_of_row
from scoring.transformers import shape

COLUMNS = ("layers", "hidden", "heads", "kv_heads", "vocab", "experts", "topk")


def row_of(slug, **columns):
    """A row that states what measured rows do of a public mixture, under another name."""
    model = shape(slug)
    stated = {name: str(getattr(model, name)) for name in COLUMNS}
    stated |= {"ffn_hidden": str(model.dense_ffn_hidden or model.ffn_hidden)}
    return {"model_name": "M", "params_b": f"{model.parameters / 1e9:.0f}", **stated, **columns}


@pytest.mark.parametrize("slug", mixtures())
def test_a_public_mixture_is_known_by_its_figures_under_any_name(slug):
    assert shape_of_row(row_of(slug)).parameters == shape(slug).parameters


def test_its_vocabulary_may_be_padded():
    row = row_of("deepseek-v3", vocab="129536")
    assert shape_of_row(row) == shape("deepseek-v3")


def test_a_mixture_of_a_public_name_without_its_experts_is_that_model():
    row = row_of("deepseek-v3", model_name="DeepSeek-V3", experts="", topk="")
    assert shape_of_row(row) == shape("deepseek-v3")


def test_fewer_layers_of_a_public_mixture_are_that_model_cut():
    cut = shape_of_row(row_of("deepseek-v3", model_name="DeepSeek-V3", layers="16"))
    assert (cut.layers, cut.moe_layers, cut.kv_width) == (16, 13, 576)


OWN = {
    "model_name": "a mixture of one's own",
    **dict(zip(COLUMNS, ("40", "5120", "40", "8", "100000", "32", "2"), strict=True)),
    "ffn_hidden": "6144",
}


def test_another_mixture_has_the_parameters_that_it_states():
    bare = 40 * 32 * 3 * 5120 * 6144 / 1e9  # 120.8: three matrices of each of 32 experts
    attention = 40 * 5120 * (5120 + 2 * 1024 + 5120) / 1e9
    rest = attention + 2 * 100_000 * 5120 / 1e9
    plain = shape_of_row({**OWN, "params_b": f"{bare + rest:.1f}"})
    assert (plain.gated, plain.shared_ffn_hidden) == (True, 0)
    assert not shape_of_row({**OWN, "params_b": f"{bare * 2 / 3 + rest:.1f}"}).gated
    shared = shape_of_row({**OWN, "params_b": f"{bare * 33 / 32 + rest:.1f}"})
    assert shared.shared_ffn_hidden == 6144


def test_a_mixture_whose_figures_do_not_add_up_is_no_question():
    with pytest.raises(CannotPredict, match="parameters"):
        shape_of_row({**OWN, "params_b": "671"})
