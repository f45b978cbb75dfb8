"""What holds for every collection of graphs."""

import numpy as np
import pytest

from retgk import GraphDataset, InvalidInputError
from tests.tu_files import toy_graphs


def test_targets_become_an_array():
    dataset = GraphDataset(toy_graphs(), ["a", "b", "a"], "T", edge_labels=range(9))
    assert dataset.targets.tolist() == ["a", "b", "a"]
    assert dataset.edge_labels.tolist() == list(range(9))
    assert GraphDataset(toy_graphs(), np.ones((3, 2)), "T").targets.shape == (3, 2)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"targets": [1, 2]}, "T has 3 graphs but 2 targets"),
        ({"targets": 1}, r"T: targets must be one value, .* for each graph; got shape \(\)"),
        ({"targets": np.ones((3, 1, 1))}, r"targets must be .* got shape \(3, 1, 1\)"),
        ({"targets": np.ones((3, 0))}, r"targets must be .* got shape \(3, 0\)"),
        ({"edge_labels": np.ones(8, int)}, r"must be 9 integers, .* got int64 of shape \(8,\)"),
        ({"edge_labels": np.ones((9, 2), int)}, r"must be 9 integers.* shape \(9, 2\)"),
        ({"edge_labels": np.ones(9)}, "edge_labels must be 9 integers.* got float64"),
    ],
)
def test_values_that_do_not_fit_the_graphs(values, message):
    with pytest.raises(InvalidInputError, match=message):
        GraphDataset(**{"graphs": toy_graphs(), "targets": [1, 2, 3], "name": "T", **values})
