"""What a recipe names and this machine does not have: found before the preparation, which can take hours."""

from cdesearch.errors import InputError
from cdesearch.models.hub import checkpoint_folder
from cdesearch.models.registry import family_of
from trainer.data.pairs.reading import domain_files, domain_name
from trainer.recipe import Recipe


def check_named(recipe: Recipe) -> None:
    """Raise InputError for a domain that no pair file has, ModelError for another surrogate."""
    files = domain_files(recipe.data.pairs)
    domains = list(map(domain_name, files))
    if unknown := sorted(set(recipe.data.held_out_domains) - set(domains)):
        raise InputError(
            f"data.held_out_domains names {', '.join(unknown)}, which data.pairs does not have.",
            f"Name some of: {', '.join(domains)}.",
        )
    if recipe.run.surrogate is not None:
        family_of(checkpoint_folder(recipe.run.surrogate))
