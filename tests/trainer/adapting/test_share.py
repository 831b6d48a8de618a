import numpy as np

from trainer.adapting.share import SHARES, choose_share


def ranks_of(**others):
    start = [0.5] * 100
    return {share: others.get(f"s{int(100 * share)}", start) for share in SHARES}


def test_the_share_with_the_highest_mean_is_chosen_if_its_gain_is_proven():
    chosen = choose_share(ranks_of(s25=[0.55] * 100, s75=[0.6] * 100, s100=[0.2] * 100))
    assert (chosen.share, chosen.best) == (0.75, 0.75)
    np.testing.assert_allclose([chosen.before, chosen.after, chosen.bound], [50, 60, 10])


def test_a_gain_of_few_questions_is_not_proven():
    chosen = choose_share(ranks_of(s50=[1.0, 1.0] + [0.5] * 98))
    assert chosen.share == 0 and chosen.best == 0.5 and chosen.after > chosen.before and chosen.bound <= 0


def test_the_bound_is_the_quantile_of_the_mean_gain_that_the_choice_among_four_shares_allows():
    gains = np.random.default_rng(1).normal(0.1, 0.2, 400)
    chosen = choose_share({share: list(0.5 + gains * (share == 1)) for share in SHARES})
    error = 2.241 * 100 * gains.std() / np.sqrt(400)  # the normal quantile of .05 / 4
    np.testing.assert_allclose(chosen.bound, 100 * gains.mean() - error, atol=0.1)
