"""Tables of the tests of populations for docs/benchmarks.md."""

from benchmarks.records import read_records


def level_rows():
    """Share of tests that reject where there is nothing to find, by kind of graphs and size."""
    header = ["graphs or design", "n per side", "tests", "rejected at 5 %"]
    return header, [
        [r["kind"], r["n"], f"{r['repetitions']:,}", f"{100 * r['rejected']:.1f} %"]
        for r in read_records("population_level")
    ]


def power_rows():
    """Share of tests that reject, by method, as curves over the size of the difference."""
    records = read_records("population_power")
    methods = list(dict.fromkeys(name for r in records for name in r["power"]))
    header = ["difference", "size", *methods]
    return header, [
        [
            r["alternative"],
            f"{r['effect']:g}",
            *(f"{r['power'][name]:.2f}" if name in r["power"] else "" for name in methods),
        ]
        for r in records
    ]


def coverage_rows():
    """How often intervals hold the effect."""
    header = ["true effect", "n per side", "intervals of 95 %", "hold it", "mean width"]
    return header, [
        [
            f"{r['truth']:.2f}",
            r["n"],
            r["repetitions"],
            f"{r['held']:.1%}",
            f"{r['mean_width']:.2f}",
        ]
        for r in read_records("population_coverage")
    ]


def speed_rows():
    header = [
        "graphs",
        "nodes of each",
        "kernels",
        "permutations",
        "table of nodes",
        "time",
        "processor time",
    ]
    return header, [
        [
            r["graphs"],
            r["nodes_each"],
            r["kernels"],
            f"{r['permutations']:,}",
            "yes" if r["nodes_correspond"] else "no",
            f"{r['seconds']:.2f} s",
            f"{r['cpu_seconds']:.2f} s",
        ]
        for r in read_records("population_speed")
    ]


def real_rows():
    """Pairs of classes with corrected p-values, and halves of one class, which do not differ."""
    header = ["set", "compared", "p", "corrected (Holm)", "effect (95 % interval)"]
    rows = []
    for r in read_records("population_real"):
        if r["what"] == "halves":
            what = f"{r['n_halves']} random halves of class {r['class']}"
            found = f"{100 * r['rejected']:.1f} % at 5 %, median p {r['median_p']:.2f}"
            rows.append([r["set"], what, found, "", ""])
            continue
        for pair in r["pairs"]:
            low, high = pair["interval"]
            rows.append(
                [
                    r["set"],
                    "class {} and {}".format(*pair["classes"]),
                    f"{pair['p_value']:.4f}",
                    f"{pair['corrected']:.4f}",
                    f"{pair['effect']:.2f} ({low:.2f} to {high:.2f})",
                ]
            )
    return header, rows


def connectome_rows():
    """Share of tests that reject, by signal of the planted network."""
    records = sorted(read_records("population_connectomes"), key=lambda r: r["signal"])
    methods = list(records[0]["power"])
    return ["signal", "tests", *methods], [
        [f"{r['signal']:g}", r["repetitions"], *(f"{r['power'][name]:.2f}" for name in methods)]
        for r in records
    ]


def size_rows():
    """Share of tests that reject graphs of 50 and of 100 nodes that are otherwise alike."""
    header = ["graphs", "as it comes (20 tests)", "tests", '`compare="nodes"`, `Walks(n_steps=2)`']
    return header, [
        [
            r["kind"],
            f"{100 * r['rejected']['as it comes']:.0f} %",
            r["repetitions"],
            f"{100 * r['rejected']['means of two steps']:.1f} %",
        ]
        for r in read_records("population_sizes")
    ]


PARTS = {
    "population_level": level_rows,
    "population_power": power_rows,
    "population_coverage": coverage_rows,
    "population_speed": speed_rows,
    "population_real": real_rows,
    "population_connectomes": connectome_rows,
    "population_sizes": size_rows,
}
