"""Both stages as one module, and its checkpoint folder."""

import hashlib
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from cdesearch.errors import ModelError
from cdesearch.models.backbones.bert import Backbone, mean_pool
from cdesearch.models.backbones.joint import ContextPrefix
from cdesearch.models.config import ModelConfig
from cdesearch.models.contextual.second_stage import SecondStage, statistics_head

Cached = tuple[Tensor, Tensor]  # keys and values (doors, J, d) of a context


class ContextualModel(nn.Module):
    """First stage M1 and second stage M2."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.second_stage = SecondStage(config)
        self.own_first_stage = Backbone(config.backbone) if config.first_stage == "own" else None

    def first_stage(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) to (B, d), mean over the text's tokens, not normalised."""
        backbone = self.own_first_stage or self.second_stage.backbone
        return mean_pool(backbone(input_ids, attention_mask), attention_mask)

    @property
    def reads_context(self) -> bool:
        """Whether any context gets in."""
        return not self.second_stage.gates_closed

    @property
    def prefix_rows(self) -> int:
        """How many rows precede each text."""
        return self.config.context_size if self.second_stage.joint else 0

    def cache(self, vectors: Tensor, is_null: Tensor) -> Cached | None:
        """Keys and values of a context (J, d); None where the model is joint or lets none in."""
        if self.second_stage.joint or self.second_stage.gates_closed:
            return None
        return self.second_stage.cache(vectors, is_null)

    def prepare_context(self, vectors: Tensor, is_null: Tensor, cached: Cached | None) -> ContextPrefix | Cached | None:
        """A context (J, d), with what `cache` made of it, as `pooled` wants it for every batch."""
        return self.second_stage.context_prefix(vectors, is_null) if self.second_stage.joint else cached

    def pooled(
        self, input_ids: Tensor, attention_mask: Tensor, weights: Tensor, held: ContextPrefix | Cached | None
    ) -> Tensor:
        """(B, d) before the statistics head, of texts (B, T); `weights` (B, T) of their tokens, zero on padding."""
        if isinstance(held, ContextPrefix):
            states = self.second_stage.states_after(input_ids, attention_mask, held)
        else:
            states = self.second_stage.states(input_ids, attention_mask, *(held or (None, None)))
        return mean_pool(states, weights)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        weights: Tensor,
        shift: Tensor,
        projection: Tensor,
        context_vectors: Tensor | None = None,
        is_null: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Pooled and unit vectors (B, d) of texts (B, T) in a context (J, d); without one, in the null context."""
        d = self.config.backbone.dimension
        if context_vectors is None:
            slots = self.config.context_size if self.second_stage.joint else 1
            context_vectors = weights.new_zeros(slots, d)
            is_null = torch.ones(slots, dtype=torch.bool, device=weights.device)
        if is_null is None:
            is_null = torch.zeros(len(context_vectors), dtype=torch.bool, device=weights.device)
        held = self.prepare_context(context_vectors, is_null, self.cache(context_vectors, is_null))
        pooled = self.pooled(input_ids, attention_mask, weights * attention_mask, held)
        return pooled, statistics_head(pooled, shift, projection)

    def weights_hash(self) -> str:
        """Hash of every fp32 weight, by name."""
        digest = hashlib.blake2b(digest_size=16)
        for name, tensor in sorted(self.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().float().contiguous().numpy().tobytes())
        return digest.hexdigest()


def save_checkpoint(model: ContextualModel, folder: Path, dtype: torch.dtype = torch.float32) -> None:
    """Write `model.safetensors` in `dtype`; config.json and tokenizer.json are the caller's to put beside it."""
    state = {name: tensor.detach().cpu().to(dtype).contiguous() for name, tensor in model.state_dict().items()}
    save_file(state, folder / "model.safetensors")


def load_checkpoint(folder: Path) -> ContextualModel:
    """Read a checkpoint folder into fp32; raises ModelError. Nothing is downloaded and no code of the folder runs."""
    model = ContextualModel(ModelConfig.load(folder))
    file = folder / "model.safetensors"
    try:
        state = {name: tensor.float() for name, tensor in load_file(file).items()}
    except FileNotFoundError:
        raise ModelError(f"{folder} has no model.safetensors.", "Copy the checkpoint again.") from None
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{file} is damaged ({error}).", "Copy the checkpoint again.") from None
    expected = model.state_dict()
    wrong = sorted(set(state) ^ set(expected)) or [n for n in state if state[n].shape != expected[n].shape]
    if wrong:
        raise ModelError(f"{file} does not fit its config.json: {', '.join(wrong[:5])}.", "Copy the checkpoint again.")
    model.load_state_dict(state)
    return model.eval()
