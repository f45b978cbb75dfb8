"""The graph of Fig. 1 of the paper, and the multi-resolution property that it shows."""

import numpy as np

from reproduction.figures import N_STEPS, toy_graph
from retgk import return_probabilities


def test_centres_look_alike_close_by():
    graph, centres = toy_graph()
    degrees = np.diff(graph.indptr)
    around = [
        np.sort(degrees[graph.indices[graph.indptr[c] : graph.indptr[c + 1]]]) for c in centres
    ]
    assert len(set(degrees[centres])) == 1
    assert np.array_equal(around[0], around[1])
    assert np.array_equal(around[0], around[2])


def test_return_probabilities_tell_centres_apart_at_their_resolution():
    graph, centres = toy_graph()
    first, second, third = return_probabilities(graph, N_STEPS, nodes=centres)
    assert np.abs(first[:7] - second[:7]).max() < 1e-14
    assert abs(first[7] - second[7]) > 1e-5
    assert np.abs(first[:2] - third[:2]).max() < 1e-14
    assert abs(first[2] - third[2]) > 1e-2


def test_late_steps_approach_the_stationary_distribution():
    """More steps add less and less (section 3.1)."""
    graph, centres = toy_graph()
    degrees = np.diff(graph.indptr) + 1
    probabilities = return_probabilities(graph, N_STEPS, nodes=centres)
    gap = np.abs(probabilities - (degrees / degrees.sum())[centres][:, None])
    assert (gap[:, 199] < 0.5 * gap[:, 49]).all()
    assert (gap[:, 49] < 0.5 * gap[:, 4]).all()
