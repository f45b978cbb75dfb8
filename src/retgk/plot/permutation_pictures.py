"""The statistic of a test among those of permuted labels."""

from typing import TYPE_CHECKING

import numpy as np

from retgk.plot.axes import FEW_COLOURS, axes_or_new
from retgk.populations.population_result import PopulationTest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["permutation_distribution"]

_MOST_BINS = 60


def permutation_distribution(result: PopulationTest, *, ax: "Axes | None" = None) -> "Axes":
    """
    Draw the statistic of a test beside its distribution under permuted labels.

    Parameters
    ----------
    result : PopulationTest
        What `two_sample_test`, `k_sample_test` or `association_test` gave.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        The axes.

    Examples
    --------
    >>> from retgk import make_graph_classification, two_sample_test
    >>> data = make_graph_classification(n_graphs=12, n_classes=2, random_state=0)
    >>> result = two_sample_test(data, n_permutations=99, random_state=0)
    >>> permutation_distribution(result).get_ylabel()
    'permutations'
    """
    ax = axes_or_new(ax, (5.5, 3.4))
    n_bins = int(np.clip(np.sqrt(len(result.permuted)), 5, _MOST_BINS))
    ax.hist(result.permuted, bins=n_bins, color=FEW_COLOURS[5], label="permuted labels")
    ax.axvline(result.statistic, color=FEW_COLOURS[1], linewidth=2, label="these labels")
    ax.set(
        xlabel="largest standardised statistic",
        ylabel="permutations",
        title=f"p = {result.p_value:.4g}, {result.n_permutations:,} permutations",
    )
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax
