"""
Connectomes: do two groups of matrices differ, and where?
=========================================================

Twenty patients and twenty controls, one matrix of correlations between brain regions for each. We test whether the groups
differ, which regions, and whether a person can be told from the matrix.

The matrices are simulated: in patients, four of sixteen regions share a signal. With files, ``read_graphs("scans/",
targets="subjects.csv", negative="split", fisher_z=True)`` reads a folder of ``.npy``, ``.mat`` or ``.csv`` matrices.
"""

# %%
# Matrices
# --------

import matplotlib.pyplot as plt
import numpy as np

from retgk import GraphClassifier, as_batch, plot, two_sample_test

REGIONS = [f"region {k}" for k in range(16)]
rng = np.random.default_rng(0)


def correlations(shared):
    signals = rng.normal(size=(100, 16)) + 0.5 * rng.normal(size=(100, 1))
    signals[:, :4] += shared * rng.normal(size=(100, 1))
    return np.corrcoef(signals.T)


patients = np.array([correlations(0.8) for _ in range(20)])
controls = np.array([correlations(0.0) for _ in range(20)])

figure, panels = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
for axes, stack, name in zip(panels, (patients, controls), ("patients", "controls"), strict=True):
    axes.imshow(stack.mean(axis=0), vmin=-0.5, vmax=0.5, cmap="RdBu_r")
    axes.set_title(f"mean of the {name}")

# %%
# Correlations have signs, and a walk needs weights that are not negative. "split" keeps both kinds apart; "absolute"
# would take absolute values, and "positive" leave negative edges out. Fisher's z makes their spread alike, and leaves out the
# diagonal, whose ones would be self-loops.

how = {"negative": "split", "fisher_z": True}
A, B = (as_batch(stack, **how) for stack in (patients, controls))
print(A)

# %%
# Do they differ?
# ---------------
# Permutations of who is a patient give the p-value. ``nodes_correspond=True`` says that region k is the same in all matrices:
# edge is compared with edge, and there are tables of regions, edges and subnetworks with corrected p-values.

result = two_sample_test(A, B, nodes_correspond=True, rng=0)
print(result)

# %%

axes = plot.permutation_distribution(result)

# %%
# Where?
# ------

table = result.nodes
for k in np.argsort(table.corrected_p_value)[:6]:
    print(
        f"{REGIONS[k]:10} effect {table.effect[k]:.2f}, corrected p {table.corrected_p_value[k]:.4f}"
    )

for subnetwork in result.subnetworks[:1]:
    names = ", ".join(REGIONS[k] for k in subnetwork.nodes)
    print(f"{subnetwork.n_edges} edges of {names}: p {subnetwork.corrected_p_value:.4f}")

# %%
# Can a person be told?
# ---------------------
# A p-value is about groups. How well one matrix tells its group is a cross-validated score. Absolute values have one node for
# each region, so that a region has one share in a decision.

from sklearn.model_selection import StratifiedKFold, cross_val_score

people = as_batch(np.concatenate([patients, controls]), negative="absolute", fisher_z=True)
groups = np.repeat(["patient", "control"], 20)
outer = StratifiedKFold(5, shuffle=True, random_state=0)
scores = cross_val_score(GraphClassifier(random_state=0), people, groups, cv=outer)
print(f"accuracy {scores.mean():.2f} (deviation over folds {scores.std():.2f})")

# %%
# And what speaks for one of them being a patient, by region:

model = GraphClassifier(random_state=0).fit(people[1:], groups[1:])
shares = model.explain(people[0], target="patient").of(0)
figure, axes = plt.subplots(figsize=(7, 2.6), layout="constrained")
axes.bar(REGIONS, shares, color=np.where(shares > 0, "#D55E00", "#0072B2"))
axes.tick_params(axis="x", rotation=70)
axes.set_ylabel("share in the decision")

# %%
# The first four regions are those with the shared signal. The same on the command line::
#
#     retgk test patients.npy controls.npy --negative split --fisher-z --nodes-correspond
#     retgk cv scans.npy --targets groups.txt --negative absolute --fisher-z
#     retgk fit scans.npy --targets groups.txt --negative absolute --fisher-z -o model.retgk
#     retgk explain model.retgk scans.npy -o shares.csv
#
# Scans of one site look alike: give ``groups=`` the site of every scan, and labels are permuted within sites.
