"""Time against accuracy of every method, one panel a set, from the stored records.

python -m benchmarks.figure_retgk2 FILE
"""

import argparse

import numpy as np

from benchmarks.records import read_records

MARKERS = "os^Dv<>P"


def draw(records, path):
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import NullFormatter

    names = list(dict.fromkeys(record["set"] for record in records))
    methods = list(dict.fromkeys(record["method"] for record in records))
    n_columns = min(4, len(names))
    n_rows = -(-len(names) // n_columns)
    figure, axes = plt.subplots(
        n_rows,
        n_columns,
        figsize=(3 * n_columns, 2.6 * n_rows),
        squeeze=False,
        layout="constrained",
    )
    for axis, name in zip(axes.flat, names, strict=False):
        for record in records:
            if record["set"] == name and "accuracy" in record:
                index = methods.index(record["method"])
                axis.plot(
                    record["seconds"],
                    record["accuracy"],
                    MARKERS[index % len(MARKERS)],
                    color=f"C{index}",
                    label=record["method"],
                )
        axis.set(title=name, xscale="log", xlabel="seconds, graphs to matrix", ylabel="accuracy, %")
        axis.set_xlim(*whole_decades(axis.get_xlim()))
        axis.xaxis.set_minor_formatter(NullFormatter())
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    handles = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)
    figure.savefig(path)


def whole_decades(limits):
    """Powers of ten around them, so that ticks have room."""
    low, high = np.log10(limits)
    return 10 ** np.floor(low), 10 ** np.ceil(high)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path")
    draw(read_records("retgk2"), parser.parse_args().path)


if __name__ == "__main__":
    main()
