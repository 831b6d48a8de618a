"""The prefixes that a recipe puts before queries and documents, and those that the checkpoint stores."""

from collections.abc import Iterable
from dataclasses import dataclass

from cdesearch.errors import InputError
from cdesearch.models.config import ModelConfig
from trainer.recipe import Data

Pair = tuple[str, str]  # prefix of a query, prefix of a document


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The prefixes of each domain, and the prefixes for the use of the trained model."""

    by_domain: dict[str, Pair]
    default: Pair  # of the other domains
    of_checkpoint: Pair

    @classmethod
    def of_recipe(cls, data: Data, config: ModelConfig, domains: Iterable[str]) -> "Prefixes":
        """The prefixes with which a run trains on `domains`; `config` is that of the start.

        A checkpoint has one pair of prefixes. It is `data.prefix`, or else the pair that all domains share. Raises
        InputError if the domains differ and the recipe has no `data.prefix`, and for an unknown domain.
        """
        domains = list(domains)
        if unknown := sorted(data.prefixes.keys() - {*domains, *data.leave_out}):
            raise InputError(
                f"data.prefixes names {unknown[0]}, but no pair file has that name.",
                f"Name some of: {', '.join(domains)}.",
            )
        default = data.prefix or (config.query_prefix, config.document_prefix)
        used = {data.prefixes.get(domain, default) for domain in domains}
        if data.prefix is None and len(used) > 1:
            raise InputError(
                "The domains have different prefixes, and a checkpoint has one pair.",
                "Set data.prefix to the query and document prefix that the trained model is used with.",
            )
        return cls(data.prefixes, default, data.prefix or next(iter(used), default))

    def of(self, domain: str) -> Pair:
        """The query and document prefix of one domain."""
        return self.by_domain.get(domain, self.default)
