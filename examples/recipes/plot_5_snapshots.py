"""
Snapshots in time: when did the network change?
===============================================

A table of contacts with time stamps becomes one graph a day. We look at distances between days, test whether the days before and
after a date differ, and whether graphs go with time at all.

The contacts are simulated: forty people meet at random, and from day 30 on in two groups. People differ from day to day, so
that nodes do not correspond; distances of graphs do not need that.
"""

# %%
# From a table to graphs
# ----------------------

import numpy as np
import pandas as pd

from retgk.io import from_dataframe

rng = np.random.default_rng(0)
CHANGE = 30
rows = []
for day in range(60):
    for _ in range(110):
        a, b = rng.integers(40, size=2)
        if day >= CHANGE and a % 2 != b % 2 and rng.random() < 0.8:
            b = (b + 1) % 40  # a person of one's own group
        if a != b:
            rows.append((day, a, b))
contacts = pd.DataFrame(rows, columns=["day", "source", "target"]).drop_duplicates()
print(contacts.head(3))

# %%

graphs = from_dataframe(contacts, graph_id="day")
print(graphs)

# %%
# Distances between days
# ----------------------

import matplotlib.pyplot as plt

from retgk.search import distances

apart = distances(graphs)
figure, axes = plt.subplots(figsize=(5, 4.2), layout="constrained")
shown = axes.imshow(apart, cmap="viridis")
figure.colorbar(shown, label="distance")
axes.set(xlabel="day", ylabel="day")

# %%
# Single days are noisy. A window sums evidence: the mean distance between the days before and after a
# date, less those within.


def contrast(day, width=10):
    before, after = slice(day - width, day), slice(day, day + width)
    within = (apart[before, before].mean() + apart[after, after].mean()) / 2
    return apart[before, after].mean() - within


days = np.arange(10, 51)
values = [contrast(day) for day in days]
figure, axes = plt.subplots(figsize=(6.5, 2.8), layout="constrained")
axes.plot(days, values)
axes.axvline(CHANGE, color="grey", ls="--")
axes.set(xlabel="day", ylabel="contrast of ten days")
print("largest contrast on day", days[np.argmax(values)])

# %%
# Is it more than chance?
# -----------------------
# A date that was chosen by looking at the data needs other data, or a test that accounts for the choice. For a date that was
# fixed beforehand, such as that of a measure, the test of two populations is right:

from retgk import two_sample_test
from retgk.stats import association_test

result = two_sample_test(graphs[:CHANGE], graphs[CHANGE:], n_permutations=1999, rng=0)
print(result)

# %%
# Without a date: do graphs go with time?

drift = association_test(graphs, np.arange(60.0), n_permutations=1999, rng=0)
print(f"p = {drift.p_value:.4f}")
