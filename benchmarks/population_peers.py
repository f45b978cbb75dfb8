"""P-values of hyppo and graspologic; runs in an environment of its own, without retgk.

    python population_peers.py INPUT.npz OUTPUT.json

INPUT has `features` (n_tests, 2 n, dimension), with the first population first, and may have
`means` (n_tests, 2, n_nodes, n_nodes), the mean adjacency matrices of both.
"""

import json
import sys
import warnings

import numpy as np

N_PERMUTATIONS = 199


def hyppo_p_values(features):
    from hyppo.ksample import MMD, KSample

    found = {"hyppo MMD": [], "hyppo Dcorr": []}
    for x, y in (np.split(each, 2) for each in features):
        np.random.seed(0)  # noqa: NPY002 - hyppo draws from the global generator
        found["hyppo MMD"].append(MMD().test(x, y, reps=N_PERMUTATIONS, auto=False)[1])
        found["hyppo Dcorr"].append(KSample("Dcorr").test(x, y, reps=N_PERMUTATIONS, auto=False)[1])
    return found


def graspologic_p_values(means):
    from graspologic.inference import latent_distribution_test

    return {
        f"graspologic, rank {rank}": [
            latent_distribution_test(
                first, second, n_components=rank, n_bootstraps=N_PERMUTATIONS, random_state=0
            ).pvalue
            for first, second in means
        ]
        for rank in (1, 2)
    }


def main():
    warnings.simplefilter("ignore")
    given = np.load(sys.argv[1])
    found = hyppo_p_values(given["features"])
    if "means" in given:
        found |= graspologic_p_values(given["means"])
    found = {name: [float(value) for value in values] for name, values in found.items()}
    with open(sys.argv[2], "w") as stream:
        json.dump(found, stream)


if __name__ == "__main__":
    main()
