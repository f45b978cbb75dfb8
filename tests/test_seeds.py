"""What random_state may be, wherever users give one."""

import numpy as np
import pytest

from retgk import (
    InvalidInputError,
    RetGKClassifier,
    RetGKEmbedding,
    make_graph_classification,
    return_probabilities,
)
from retgk._runtime.names import generator_from, seed_from, whole_seed

DATA = make_graph_classification(12, random_state=0)
CALLS = {
    "seed_from": seed_from,
    "whole_seed": whole_seed,
    "generator_from": generator_from,
    "data": lambda seed: make_graph_classification(4, random_state=seed),
    "walks": lambda seed: return_probabilities(DATA, 3, nodes=2, random_state=seed),
    "embedding": lambda seed: RetGKEmbedding(random_state=seed).fit(DATA.graphs),
    "classifier": lambda seed: RetGKClassifier(random_state=seed).fit(DATA),
}


@pytest.mark.parametrize("seed", ["x", -1, np.int64(-1), 1.5, {}], ids=repr)
@pytest.mark.parametrize("call", CALLS)
def test_what_is_no_seed_is_named(call, seed):
    message = "random_state must be an integer that is not negative, a Generator, a RandomState or"
    with pytest.raises(InvalidInputError, match=message):
        CALLS[call](seed)


@pytest.mark.parametrize("call", ["seed_from", "whole_seed", "data"])
@pytest.mark.parametrize(
    "made",
    [
        lambda: 3,
        lambda: np.int32(3),
        lambda: np.uint64(2**64 - 1),
        lambda: np.random.default_rng(3),
        lambda: np.random.RandomState(3),
        lambda: np.random.SeedSequence(3),
    ],
)
def test_seeds_and_generators_give_the_same_again(call, made):
    one, two = (CALLS[call](made()) for _ in range(2))
    if call == "data":
        one, two = one.graphs, two.graphs
    assert one == two


def test_none_draws_anew():
    assert seed_from(None) != seed_from(None)


def test_seeds_stay_what_they_were():
    """Results of earlier versions depend on them."""
    assert generator_from(5).integers(1000) == np.random.default_rng(5).integers(1000)
    assert seed_from(5) == np.random.default_rng(5).integers(2**63)
    assert whole_seed(5) == 5
