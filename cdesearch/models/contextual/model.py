"""Both stages as one module, and its checkpoint folder."""

import hashlib
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor, nn

from cdesearch.errors import ModelError
from cdesearch.models.backbones.bert import Backbone, mean_pool, pool_chunks
from cdesearch.models.backbones.joint import ContextPrefix
from cdesearch.models.backbones.packed import Packing, packed_mean
from cdesearch.models.checkpoint_files import AGAIN, DEFAULT_MODEL, check_plain, weights_file
from cdesearch.models.config import ModelConfig
from cdesearch.models.contextual.second_stage import SecondStage
from cdesearch.models.published_weights import on_meta_device

Cached = tuple[Tensor, Tensor]  # keys and values (L, J, d) of a context in the L layers with cross-attention to it
PreparedContext = ContextPrefix | Cached | None  # what `pooled` takes for every batch


class ContextualModel(nn.Module):
    """The first stage, M1 in the paper, and the second stage, M2. `Network` describes the methods."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.second_stage = SecondStage(config)
        self.own_first_stage = Backbone(config.backbone) if config.first_stage == "own" else None

    def first_stage(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return mean_pool(self.first_states(input_ids, attention_mask), attention_mask)

    def first_states(self, input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
        """(B, T, d) token states of the first stage; without a mask no text is padded."""
        backbone = self.own_first_stage or self.second_stage.backbone
        states: Tensor = backbone(input_ids, attention_mask)
        return states

    def packed_first_stage(self, packing: Packing) -> Tensor:
        backbone = self.own_first_stage or self.second_stage.backbone
        states = backbone.packed_states(packing).float()
        return packed_mean(states, torch.ones_like(states[0, :, 0]), packing)

    @property
    def reads_context(self) -> bool:
        return self.second_stage.reads_context

    @property
    def prefix_rows(self) -> int:
        return self.config.context_size if self.second_stage.joint else 0

    def cache(self, vectors: Tensor, is_null: Tensor) -> Cached | None:
        stage = self.second_stage
        return None if stage.joint or not stage.reads_context else stage.cache(vectors, is_null)

    def prepare_context(self, vectors: Tensor, is_null: Tensor, cached: Cached | None) -> PreparedContext:
        return self.second_stage.context_prefix(vectors, is_null) if self.second_stage.joint else cached

    def token_states(self, input_ids: Tensor, attention_mask: Tensor, context: PreparedContext) -> Tensor:
        """(B, T, d) states of all tokens after the second stage, of texts (B, T)."""
        if isinstance(context, ContextPrefix):
            return self.second_stage.states_after(input_ids, attention_mask, context)
        return self.second_stage.states(input_ids, attention_mask, *(context or (None, None)))

    def pooled(
        self, input_ids: Tensor, attention_mask: Tensor, weights: Tensor, context: PreparedContext
    ) -> tuple[Tensor, Tensor]:
        states = self.token_states(input_ids, attention_mask, context)
        return mean_pool(states, weights), states

    def pooled_chunks(self, input_ids: Tensor, belongs: Tensor, weights: Tensor, context: Cached | None) -> Tensor:
        """(C, d) before the statistics head, of the chunks of one window (T,); each is pooled from its own tokens.

        `belongs` (C, T) is 1 where a token belongs to a chunk, and `weights` (T,) are those of the tokens.
        """
        states = self.second_stage.states(input_ids[None], None, *(context or (None, None)))
        return pool_chunks(states, (belongs * weights)[None])[0]

    def weights_hash(self) -> str:
        digest = hashlib.blake2b(digest_size=16)
        for name, tensor in sorted(self.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().float().contiguous().numpy().tobytes())
        return digest.hexdigest()


def load_checkpoint(folder: Path) -> ContextualModel:
    """Read a checkpoint folder into fp32; raises ModelError. Nothing is downloaded and no code of the folder runs."""
    config = ModelConfig.load(folder)
    with on_meta_device():  # no memory is reserved before the file is known to have these tensors
        shapes = {name: list(tensor.shape) for name, tensor in ContextualModel(config).state_dict().items()}
    file = weights_file(folder, config.weights_hash)
    check_plain(file)
    try:
        with safe_open(file, framework="pt") as opened:
            wrong = sorted(set(opened.keys()) ^ set(shapes)) or [
                name for name in shapes if opened.get_slice(name).get_shape() != shapes[name]
            ]
        if wrong:
            raise ModelError(f"{file} does not fit its config.json: {', '.join(wrong[:5]):.300}.", AGAIN)
        state = {name: tensor.float() for name, tensor in load_file(file).items()}
    except FileNotFoundError:
        remedy = "Run `pip install cdesearch-weights`." if folder == DEFAULT_MODEL else AGAIN
        raise ModelError(f"{folder} has no model.safetensors.", remedy) from None
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{file} is damaged ({error}).", AGAIN) from None
    model = ContextualModel(config)
    model.load_state_dict(state)
    return model.eval()
