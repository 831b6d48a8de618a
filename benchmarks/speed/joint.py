"""The command that measures joint attention, with the work of the prefix repeated and computed once."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from benchmarks.speed.turns import in_turns

if TYPE_CHECKING:
    from torch import Tensor

    from cdesearch.models.config import ModelConfig
    from cdesearch.models.released.config import ReleasedConfig

N_TEXTS = 4
Runs = dict[str, Callable[[], "Tensor"]]


def joint_speed(
    context_size: Annotated[int, typer.Option(min=1, help="J, rows of context.")] = 512,
    tokens: Annotated[int, typer.Option(min=1, help="T, tokens of every text.")] = 128,
    layers: Annotated[int, typer.Option(min=1, help="Layers of 384 dimensions.")] = 6,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds in turns; the result is their median.")] = 5,
) -> None:
    """Measure milliseconds per text on one thread, in random models of the released kinds and of cdesearch."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    with torch.inference_mode():
        for name, runs in _models(context_size, tokens, layers):
            plain = runs["plain"]()
            assert torch.allclose(plain, runs["once"](), atol=1e-4 * float(plain.abs().max())), name
            seconds = in_turns(runs, rounds, cpu_time=True)
            times = ", ".join(f"{kind} {1000 * value / N_TEXTS:.0f}" for kind, value in seconds.items())
            print(f"{name}: {times}; gain {seconds['plain'] / seconds['once'] - 1:.0%}")


def _models(size: int, tokens: int, layers: int) -> Iterator[tuple[str, Runs]]:
    import torch

    from cdesearch.models.backbones.modern_bert import ModernBertConfig
    from cdesearch.models.backbones.nomic_bert import NomicBertConfig
    from cdesearch.models.config import BackboneConfig, ModelConfig
    from cdesearch.models.released.config import ReleasedConfig

    ids, context = torch.randint(1000, (N_TEXTS, tokens)), torch.randn(size, 384)
    nomic = NomicBertConfig(1000, 384, layers, 6, 1536)
    modern = ModernBertConfig(1000, 384, layers, 6, 576)
    v1 = ReleasedConfig("v1", nomic, nomic, size, 512, True, False, False)
    v2 = ReleasedConfig("v2", modern, modern, size, 512, True, False, False)
    yield "v1", _released(v1, ids, context)
    yield "v2", _released(v2, ids, context)
    own = ModelConfig(BackboneConfig(1000, 384, layers, 12, 1536, 512), context_attention="joint")
    yield "cdesearch", _own(own, ids, context)


def _released(config: "ReleasedConfig", ids: "Tensor", context: "Tensor") -> Runs:
    import torch

    from cdesearch.models.backbones.joint import text_states, through
    from cdesearch.models.released.model import ReleasedModel

    stage = ReleasedModel(config).eval().second_stage_model
    ones, n_before = torch.ones_like(ids), len(context) + len(stage.soft_prompts)
    mask = torch.cat([ones.new_ones(len(ids), n_before), ones], dim=1)
    prefix = stage.context_prefix(context)

    def plain() -> "Tensor":
        before = torch.cat([context, stage.soft_prompts]).expand(len(ids), -1, -1)
        rows = stage.enter(torch.cat([before, stage.backbone.embed(ids)], dim=1))
        return through(stage.steps(mask, len(context)), rows)[:, n_before:]

    def once() -> "Tensor":
        return text_states(prefix, stage.enter(stage.backbone.embed(ids)), stage.steps(mask, len(context)))

    return {"plain": plain, "once": once, "no context": lambda: stage.backbone(ids, ones)}


def _own(config: "ModelConfig", ids: "Tensor", context: "Tensor") -> Runs:
    import torch

    from cdesearch.models.contextual.model import ContextualModel

    stage = ContextualModel(config).eval().second_stage
    ones, is_null = torch.ones_like(ids), torch.zeros(len(context), dtype=torch.bool)
    prefix = stage.context_prefix(context, is_null)

    def plain() -> "Tensor":
        rows = torch.cat([prefix.rows.expand(len(ids), -1, -1), stage.backbone.embed(ids)], dim=1)
        for block, _ in stage.layers:
            rows = block(rows, None)
        return rows[:, len(context) :]

    return {
        "plain": plain,
        "once": lambda: stage.states_after(ids, ones, prefix),
        "no context": lambda: stage.states(ids, ones, None, None),
    }
