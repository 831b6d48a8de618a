import numpy as np

from trainer.adapting.share import SHARES, choose_share


def ranks_of(**others):
    start = [0.5] * 100
    return {share: others.get(f"s{int(100 * share)}", start) for share in SHARES}


def test_the_share_with_the_highest_mean_is_chosen_if_its_gain_is_proven():
    chosen = choose_share(ranks_of(s25=[0.6] * 100, s50=[0.55] * 100))
    assert (chosen.share, chosen.best) == (0.25, 0.25)
    np.testing.assert_allclose([chosen.before, chosen.after, chosen.bound], [50, 60, 10])


def test_a_gain_of_few_questions_is_not_proven():
    chosen = choose_share(ranks_of(s50=[1.0, 1.0] + [0.5] * 98))
    assert chosen.share == 0 and chosen.best == 0.5 and chosen.after > chosen.before and chosen.bound <= 0


def test_the_bound_is_the_quantile_of_the_mean_gain_that_the_choice_between_two_shares_allows():
    gains = np.random.default_rng(1).normal(0.1, 0.2, 400)
    chosen = choose_share({share: list(0.5 + gains * (share == 0.5)) for share in SHARES})
    error = 1.960 * 100 * gains.std() / np.sqrt(400)  # the normal quantile of .05 / 2
    np.testing.assert_allclose(chosen.bound, 100 * gains.mean() - error, atol=0.1)
