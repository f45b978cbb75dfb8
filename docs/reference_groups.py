"""Groups of public names, and the reference pages that Sphinx makes of them.

A public name that stands in no group, in two, or in one without being public, stops the build and
fails `tests/test_documentation.py`: a new name gets its line here, a new kernel none.
"""

from collections import Counter
from inspect import ismodule
from pathlib import Path

from retgk.kernels.node import NodeKernel
from retgk.kernels.others import all_kernels

GROUPS = {
    "Learn from graphs": (
        "Graphs in, predictions out; parameters are chosen on the training graphs.",
        ["GraphClassifier", "GraphRegressor", "model_selection.Explanation"],
    ),
    "Kernels": (
        "Kernels are values: they add, multiply and scale, and one of your own has two methods.",
        [
            "RetGK", "kernels.GraphKernel", "kernels.Sum", "kernels.Product", "kernels.Scaled",
            "kernels.Normalized", "kernels.MinMax", "kernels.mean_of", "kernels.molecule_kernel",
            "kernels.Precomputed",
        ],
    ),
    "Kernels of other authors": (
        "What RetGK is compared with, native, in the same form.",
        [
            *(f"kernels.{kind.__name__}" for kind in all_kernels()), "kernels.graphlet_counts",
            "kernels.Morgan", "kernels.Descriptors",
        ],
    ),
    "Parts of RetGK": (
        "Walks, kernels between nodes, and kernels between mean embeddings.",
        [
            "Walks",
            "kernels.NodeKernel",
            *(
                f"kernels.{own.__name__}"
                for own in NodeKernel.kinds
                if own.__module__ == NodeKernel.__module__
            ),
            "kernels.Delta", "kernels.Bridge", "kernels.ExponentialGraphKernel",
            "kernels.PolynomialGraphKernel",
        ],
    ),
    "Vectors and large matrices": (
        "A vector for each graph, and kernel matrices that are larger than memory.",
        [
            "kernels.RetGKEmbedding", "kernels.Vectors", "kernels.embedding_gram",
            "kernels.embed_files", "kernels.write_mean_embedding_gram",
        ],
    ),
    "Features of nodes": (
        "Return probabilities and refined labels, for your own models.",
        [
            "return_probabilities", "kernels.sample_nodes", "kernels.refined_labels",
            "pyg.AddReturnProbabilities",
        ],
    ),
    "Compare and search": (
        "Similarities, distances and neighbours, of two graphs or of millions.",
        [
            "similarity", "distance", "most_similar", "search.distances", "GraphIndex",
            "search.duplicate_groups",
        ],
    ),
    "Test groups of graphs": (
        "Do populations differ, do graphs go with a value: permutation tests.",
        [
            "two_sample_test", "stats.k_sample_test", "stats.association_test",
            "stats.PopulationTest",
        ],
    ),
    "Compare methods": (
        "Which method is best on these graphs: the same folds for all, in processes with limits.",
        [
            "compare", "model_selection.Comparison", "model_selection.scaffold_folds",
            "model_selection.scaffold_split",
        ],
    ),
    "Graphs in memory": (
        "The one graph class, and converters from and to other packages.",
        [
            "GraphBatch", "GraphDataset", "as_batch",
            *(
                f"io.{name}"
                for name in (
                    "from_networkx", "from_igraph", "from_pyg", "from_rdkit", "from_smiles",
                    "are_readable", "iter_smiles", "from_numpy", "from_scipy", "from_edge_lists",
                    "from_dataframe", "from_grakel",
                    "to_networkx", "to_igraph", "to_pyg", "to_grakel",
                )
            ),
            "InvalidInputError",
        ],
    ),
    "Graphs in files": (
        "Any file by `read_graphs` and `write_graphs`; Parquet piece by piece.",
        ["read_graphs", "write_graphs", "io.iter_parquet", "io.write_parquet"],
    ),
    "Collections": (
        "Benchmarks by name, handwritten digits as graphs, random graphs.",
        [
            "datasets.load_tudataset", "datasets.load_digit_graphs",
            "datasets.make_graph_classification",
        ],
    ),
    "Model files": ("Arrays and JSON, no pickle.", ["save_model", "load_model"]),
    "One page of a collection": (
        "A map, drawings, neighbours and what a model says, in one HTML file.",
        ["explore"],
    ),
    "Pictures": (
        "`retgk.plot`, on Matplotlib.",
        [
            "plot.return_probability_curves", "plot.graph_by_return_probability",
            "plot.explained_graph", "plot.explained_molecule", "plot.gram_heat_map",
            "plot.collection_map", "plot.confusion_matrix", "plot.permutation_distribution",
            "plot.node_positions",
        ],
    ),
}  # fmt: skip

# Objects that functions of a group give back; users read their fields and never make them.
RETURNED = {
    "Compare and search": [
        "estimators.similarity.MostSimilar",
        "search.duplicates.DuplicateGroup",
    ],
    "Test groups of graphs": ["stats.results.NodeTable"],
    "One page of a collection": ["explorer.page.CollectionPage"],
}


def public_names():
    """All that users import: names of retgk, and those that its packages add, each once."""
    import retgk

    packages = [name for name in retgk.__all__ if ismodule(getattr(retgk, name))]
    first = [name for name in retgk.__all__ if name not in packages]
    known = {id(getattr(retgk, name)) for name in first}
    return first + [
        f"{package}.{name}"
        for package in packages
        for name in getattr(retgk, package).__all__
        if id(public_object(f"{package}.{name}")) not in known
    ]


def public_object(name):
    """What a name of `public_names` stands for."""
    import retgk

    value = retgk
    for part in name.split("."):
        value = getattr(value, part)
    return value


def grouping_faults(groups, names):
    """One line for each name that is not in exactly one group, or in one and not public."""
    places = Counter(name for _, grouped in groups.values() for name in grouped)
    missing = [
        f"{name}: in no group of docs/reference_groups.py" for name in names if not places[name]
    ]
    twice = [f"{name}: in {n} groups" for name, n in places.items() if n > 1]
    unknown = [f"{name}: not a public name" for name in places if name not in names]
    return missing + twice + unknown


def example_faults(names):
    """One line for each public name whose docstring has no example."""
    return [
        f"{name}: no example" for name in names if ">>>" not in (public_object(name).__doc__ or "")
    ]


def page_name(title):
    return title.lower().replace(" ", "_")


INDEX_HEAD = """Reference
=========

Every public name has a page with its parameters and an example that the test suite runs. The
program has :doc:`a page of its own </command_line>`.
"""


def heading(title, line="="):
    return f"{title}\n{line * len(title)}\n"


def summary(names, toctree=""):
    """A table of names with their first sentences; with a folder, their pages too."""
    rows = "\n".join(f"   ~retgk.{name}" for name in names)
    return f".. autosummary::\n{toctree}   :nosignatures:\n\n{rows}\n"


def group_page(title, about, names):
    """A page with a table of the group's names, each with a page of its own."""
    toctree = "   :toctree: generated\n"
    parts = [heading(title), as_rst(about), summary(names, toctree)]
    if title in RETURNED:
        parts += ["What they give back:\n", summary(RETURNED[title], toctree)]
    return "\n".join(parts)


def index_page(groups):
    """All groups on one page."""
    pages = "\n".join(f"   {page_name(title)}" for title in groups)
    toctree = f".. toctree::\n   :hidden:\n\n{pages}\n   ../command_line\n"
    parts = [
        f"{heading(title, '-')}\n{as_rst(about)}\n{summary(names)}"
        for title, (about, names) in groups.items()
    ]
    return "\n".join([INDEX_HEAD, toctree, *parts])


def as_rst(text):
    return text.replace("`", "``") + "\n"


def write_reference(folder):
    """Write one page for each group; refuse names without a group or an example."""
    names = public_names()
    faults = grouping_faults(GROUPS, names) + example_faults(names)
    if faults:
        raise SystemExit("\n".join(["the reference is not complete:", *faults]))
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for title, (about, grouped) in GROUPS.items():
        write_if_new(folder / f"{page_name(title)}.rst", group_page(title, about, grouped))
    write_if_new(folder / "index.rst", index_page(GROUPS))
    return len(names)


def write_if_new(path, text):
    """Leave a page alone that says this already, so that Sphinx does not read it again."""
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")
