"""Whether explanations find what is known, what removing nodes does, and what they cost.

    python -m benchmarks.bench_explanations FOLDER TABLES [--part PART]

FOLDER holds the benchmark sets, TABLES the tables of molecules. Parts: `motifs` (ROC-AUC of the
nodes of a planted motif among all nodes of a graph, by their shares), `fragments` (the same for
atoms of a fragment of molecules that is all that makes one active), `groups` (the same for atoms
of nitro and amino groups of MUTAG), `deletion` (how far decision values fall when nodes of the
highest shares, or random ones, are taken away), `alternatives` (leaving out one node, and Shapley
values by sampling, on some graphs) and `speed` (explaining 1,000 molecules, and predicting them).
"""

import argparse
import functools
import gzip
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.molecule_sets import MOSES, load_set
from benchmarks.planted_motifs import BASES, MOTIFS, planted_motifs
from benchmarks.records import add_record, best_time
from retgk import GraphBatch, GraphClassifier, RetGK
from retgk._runtime.parallel import single_threaded_blas
from retgk.datasets import load_tudataset
from retgk.io import from_smiles
from retgk.kernels.exact import ExactComparison
from retgk.kernels.exact_points import NodePoints
from retgk.kernels.refinement import Levels

SHARE = 0.2
ENGINES = {"exact": RetGK(), "embedded": RetGK(n_components=1024)}


def record(part, name, **numbers):
    print(part, name, {k: round(v, 4) if isinstance(v, float) else v for k, v in numbers.items()})
    add_record("explanations", {"part": part, "name": name, **numbers}, "part", "name")


def molecules(tables):
    data = load_set("BBBP", tables)
    return from_smiles(data.smiles), np.asarray(data.targets)


# known motifs and groups


def motif_auc(marks, explanation, chosen):
    return [roc_auc_score(marks[place], explanation.of(row)) for row, place in enumerate(chosen)]


def bench_motifs():
    for base in BASES:
        for motif in MOTIFS:
            planted = planted_motifs(base, motif, 400)
            with_motif = np.arange(301, 400, 2)
            numbers = {}
            for engine, kernel in ENGINES.items():
                model = GraphClassifier(kernel, random_state=0)
                model.fit(planted.graphs[:300], planted.classes[:300])
                found = model.explain(planted.graphs[with_motif], 1)
                numbers[engine] = float(np.mean(motif_auc(planted.is_motif, found, with_motif)))
                score = model.score(planted.graphs[300:], planted.classes[300:])
                numbers[f"{engine}_accuracy"] = float(score)
            record("motifs", f"{motif} on {base}", **numbers)


FRAGMENTS = {
    "nitrile": "C#N",
    "sulfonamide": "S(=O)(=O)N",
    "thiophene": "c1ccsc1",
    "halogen": "[F,Cl,Br]",
    "primary amide": "C(=O)[NH2]",
}
_N_POOL, _N_TRAIN, _N_TEST = 30_000, 2_000, 500


def bench_fragments(tables):
    """2,000 molecules of MOSES, at most a fifth active: those that have the fragment."""
    from rdkit import Chem

    with gzip.open(Path(tables) / MOSES, "rt") as stream:
        lines = stream.read().split()[1:]
    rng = np.random.default_rng(0)
    pool = [lines[i] for i in rng.permutation(len(lines))[:_N_POOL]]
    parsed = [Chem.MolFromSmiles(text) for text in pool]
    for name, pattern in FRAGMENTS.items():
        found = [own.GetSubstructMatches(Chem.MolFromSmarts(pattern)) for own in parsed]
        active = np.array([len(own) > 0 for own in found])
        n_all = _N_TRAIN + _N_TEST
        positive = np.flatnonzero(active)[: n_all // 5]
        chosen = np.append(positive, np.flatnonzero(~active)[: n_all - len(positive)])
        train, test = np.split(rng.permutation(chosen), [_N_TRAIN])
        start = time.process_time()
        model = GraphClassifier(C=10, random_state=0)
        model.fit([pool[i] for i in train], active[train].astype(int))
        fitted = time.process_time()
        shown = test[active[test]]
        shares = model.explain([pool[i] for i in shown], 1)
        scores = []
        for row, place in enumerate(shown):
            marks = np.isin(np.arange(len(shares.of(row))), np.concatenate(found[place]))
            if not marks.all():
                scores.append(roc_auc_score(marks, shares.of(row)))
        gaps = np.add.reduceat(shares.shares, shares.node_ptr[:-1]) + shares.baseline
        record(
            "fragments",
            name,
            auc=float(np.mean(scores)),
            lowest_auc=float(np.min(scores)),
            graphs=len(scores),
            accuracy=float(model.score([pool[i] for i in test], active[test].astype(int))),
            largest_gap=float(np.abs(gaps - shares.decisions).max()),
            fit_seconds=fitted - start,
            explain_seconds=time.process_time() - fitted,
        )


def nitro_and_amino(graphs):
    """Whether each node of MUTAG is in a nitro group, and whether it is the nitrogen of NH2."""
    oxygen, nitrogen = graphs.label_names.index("O"), graphs.label_names.index("N")
    graph_of = np.repeat(np.arange(len(graphs)), graphs.node_counts)
    degrees = np.diff(graphs.indptr)
    sources = np.repeat(np.arange(graphs.n_nodes), degrees)
    ends = graphs.indices + graphs.node_ptr[graph_of[sources]]
    is_end_oxygen = (graphs.labels == oxygen) & (degrees == 1)
    n_oxygens = np.bincount(sources, is_end_oxygen[ends], graphs.n_nodes)
    is_centre = (graphs.labels == nitrogen) & (n_oxygens == 2)
    is_nitro = is_centre.copy()
    is_nitro[ends[is_centre[sources] & is_end_oxygen[ends]]] = True
    return is_nitro, (graphs.labels == nitrogen) & (degrees == 1)


def element_names(graphs):
    """MUTAG with the elements that its file names in its description instead of numbers."""
    names = {0: "C", 1: "N", 2: "O", 3: "F", 4: "I", 5: "Cl", 6: "Br"}
    return graphs.with_labels([names[int(graphs.label_names[code])] for code in graphs.labels])


def bench_groups(folder):
    data = load_tudataset("MUTAG", folder)
    graphs = element_names(data.graphs)
    marks = dict(zip(("nitro", "amino"), nitro_and_amino(graphs), strict=True))
    marks["either"] = marks["nitro"] | marks["amino"]
    shares, mutagenic = np.empty(graphs.n_nodes), data.targets.max()
    for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(
        data.targets, data.targets
    ):
        model = GraphClassifier(random_state=0).fit(graphs[train], data.targets[train])
        found = model.explain(graphs[test], mutagenic)
        for row, place in enumerate(test):
            shares[graphs.node_ptr[place] : graphs.node_ptr[place + 1]] = found.of(row)
    graph_of = np.repeat(np.arange(len(graphs)), graphs.node_counts)
    for group, is_in in marks.items():
        scores, means = [], []
        has_group = np.bincount(graph_of, is_in, len(graphs)) > 0
        for place in np.flatnonzero(data.targets == mutagenic):
            own = slice(graphs.node_ptr[place], graphs.node_ptr[place + 1])
            if 0 < is_in[own].sum() < len(is_in[own]):
                scores.append(roc_auc_score(is_in[own], shares[own]))
                means.append([shares[own][is_in[own]].mean(), shares[own][~is_in[own]].mean()])
        inside, outside = np.mean(means, axis=0)
        record(
            "groups",
            f"MUTAG, {group}",
            auc=float(np.mean(scores)),
            graphs=len(scores),
            mean_share=float(inside),
            mean_share_of_others=float(outside),
            mutagens_with_it=float(has_group[data.targets == mutagenic].mean()),
            others_with_it=float(has_group[data.targets != mutagenic].mean()),
        )


# removing nodes


def without_nodes(batch, is_kept):
    """Graphs with some of their nodes cut out, and the edges that these have."""
    graph_of = np.repeat(np.arange(len(batch)), batch.node_counts)
    sources = np.repeat(np.arange(batch.n_nodes), np.diff(batch.indptr))
    ends = batch.indices + batch.node_ptr[graph_of[sources]]
    both, place = is_kept[sources] & is_kept[ends], np.cumsum(is_kept) - 1
    options = {}
    if batch.has_labels:
        options["labels"] = [batch.label_names[code] for code in batch.labels[is_kept]]
    if batch.has_edge_labels:
        names = batch.edge_label_names
        options["edge_labels"] = [names[code] for code in batch.edge_labels[both]]
    return GraphBatch.from_edges(
        np.bincount(graph_of[is_kept], minlength=len(batch)),
        np.stack([place[sources[both]], place[ends[both]]], axis=1),
        batch.weights[both] if batch.is_weighted else None,
        attributes=batch.attributes[is_kept],
        **options,
    )


def decisions_without(model, batch, is_kept, targets):
    """Decision values when nodes are cut out of their graphs."""
    return model.explain(without_nodes(batch, is_kept), targets, n_training=0).decisions


def decisions_of_kept(model, batch, is_kept, codes):
    """Decision values of means over some nodes, which stay what they are in the whole graph."""
    whole = model.kernel_.compare(batch)
    nodes, graph_of = whole.nodes, whole.nodes.graph_of_node()
    levels = nodes.levels
    if levels is not None:
        colours = tuple(own[is_kept] for own in levels.colours)
        levels = Levels(colours, levels.n_known, levels.weights)
    points = NodePoints(
        tuple(np.ascontiguousarray(block[is_kept]) for block in nodes.blocks),
        np.append(0, np.cumsum(np.bincount(graph_of[is_kept], minlength=len(batch)))),
        None if nodes.labels is None else nodes.labels[is_kept],
        levels,
    )
    new = ExactComparison.of(points, whole.fitted, whole.tol, None)
    own = (new.products(), new.squared_norms(), model.kernel_.squared_norms_)
    values = model.kernel_.graph_kernel_(*own) @ model.dual_coef_.T + model.intercept_
    return (target_signs(model)[codes] * values).sum(axis=1)


def target_signs(model):
    """Decision value of every class as a sum of the values of the machine."""
    n_classes = len(model.classes_)
    if n_classes == 2:
        return np.array([[-1.0], [1.0]])
    signs = np.zeros((n_classes, n_classes * (n_classes - 1) // 2))
    pairs = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    for pair, (i, j) in enumerate(pairs):
        signs[i, pair], signs[j, pair] = 1.0, -1.0
    return signs


def kept_nodes(batch, order):
    """Flags of nodes, without the first share of every graph in an order of its nodes."""
    is_kept = np.ones(batch.n_nodes, bool)
    for graph, n_nodes in enumerate(batch.node_counts):
        count = min(max(1, round(SHARE * n_nodes)), n_nodes - 1)
        is_kept[batch.node_ptr[graph] + order(graph)[:count]] = False
    return is_kept


def drops_of_single_nodes(model, batch, targets, decisions):
    """How far the decision value falls when a node alone is cut out of its graph."""
    graph_of = np.repeat(np.arange(len(batch)), batch.node_counts)
    masks = [~np.eye(n_nodes, dtype=bool).ravel() | (n_nodes == 1) for n_nodes in batch.node_counts]
    own = (batch[graph_of], np.concatenate(masks), targets[graph_of])
    return decisions[graph_of] - decisions_without(model, *own)


def deletion(name, graphs, targets, n_test, n_single):
    rng = np.random.default_rng(0)
    order = rng.permutation(len(graphs))
    test, train = graphs[order[:n_test]], order[n_test:]
    model = GraphClassifier(RetGK(), random_state=0).fit(graphs[train], targets[train])
    found = model.explain(test)
    codes = np.searchsorted(model.classes_, found.targets)
    top = kept_nodes(test, lambda graph: np.argsort(-found.of(graph), kind="stable"))
    drawn = [kept_nodes(test, lambda g: rng.permutation(test.node_counts[g])) for _ in range(10)]

    def fall(decide, masks, chosen):
        return float(np.mean([found.decisions - decide(model, test, m, chosen) for m in masks]))

    numbers = {"decision": float(found.decisions.mean()), "baseline": float(found.baseline.mean())}
    for how, decide, chosen in (
        ("mean", decisions_of_kept, codes),
        ("cut", decisions_without, found.targets),
    ):
        numbers[f"{how}_top"] = fall(decide, [top], chosen)
        numbers[f"{how}_random"] = fall(decide, drawn, chosen)
        numbers[f"{how}_ratio"] = numbers[f"{how}_top"] / numbers[f"{how}_random"]
    some = test[:n_single]
    singles = drops_of_single_nodes(
        model, some, found.targets[:n_single], found.decisions[:n_single]
    )
    first = some.node_ptr
    by_single = kept_nodes(some, lambda g: np.argsort(-singles[first[g] : first[g + 1]]))
    after = decisions_without(model, some, by_single, found.targets[:n_single])
    numbers["cut_top_by_single_cuts"] = float((found.decisions[:n_single] - after).mean())
    accuracy = float(model.score(test, targets[order[:n_test]]))
    record("deletion", name, graphs=n_test, accuracy=accuracy, **numbers)


def bench_deletion(folder, tables):
    for name, n_test in (("MUTAG", 60), ("ENZYMES", 150)):
        data = load_tudataset(name, folder)
        deletion(name, data.graphs, data.targets, n_test, 60)
    deletion("BBBP", *molecules(tables), 300, 60)


# other ways


class Decision:
    """The decision function of an embedded model of two classes, on vectors."""

    def __init__(self, model):
        self.model, self.fitted = model, model.kernel_.engine_.vectors.toarray()
        self.norms = (self.fitted**2).sum(axis=1)
        self.start = self.fitted.mean(axis=0)

    def __call__(self, vectors):
        own = (vectors @ self.fitted.T, (vectors**2).sum(axis=1), self.norms)
        return (
            self.model.kernel_.graph_kernel_(*own) @ self.model.dual_coef_[0]
            + self.model.intercept_[0]
        )

    def shapley(self, nodes, n_orders, rng):
        """Mean gain of every node over random orders in which nodes replace the baseline."""
        steps = (nodes - self.start) / len(nodes)
        total = np.zeros(len(nodes))
        for _ in range(n_orders):
            order = rng.permutation(len(nodes))
            path = self.start + np.cumsum(np.vstack([0 * self.start, steps[order]]), axis=0)
            total[order] += np.diff(self(path))
        return total / n_orders

    def leave_one_out(self, nodes):
        """How far the value falls without a node, whose place the baseline takes."""
        mean = nodes.mean(axis=0)
        return self(mean[None]) - self(mean - (nodes - self.start) / len(nodes))


def bench_alternatives(folder, tables):
    data = load_tudataset("MUTAG", folder)
    sets = {"MUTAG": (data.graphs, data.targets), "BBBP": molecules(tables)}
    for name, (graphs, targets) in sets.items():
        rng = np.random.default_rng(0)
        order = rng.permutation(len(graphs))
        model = GraphClassifier(RetGK(n_components=1024), random_state=0)
        model.fit(graphs[order[20:1020]], targets[order[20:1020]])
        decide, test = Decision(model), graphs[order[:20]]
        found = model.explain(test, model.classes_[1])
        own_seconds = best_time(lambda m=model, x=test: m.explain(x, m.classes_[1]))
        new = model.kernel_.compare(test)
        vectors = new.node_vectors(new.features, slice(0, test.n_nodes)).toarray()
        nodes = np.split(vectors, test.node_ptr[1:-1])
        ways = {"leave one out": decide.leave_one_out}
        for n_orders in (10, 100, 1000):
            own = {"n_orders": n_orders, "rng": rng}
            ways[f"shapley {n_orders}"] = functools.partial(decide.shapley, **own)
        for way, shares_of in ways.items():
            start = time.perf_counter()
            with single_threaded_blas():  # its threads stall where cores are shared
                shares = [shares_of(own) for own in nodes]
            seconds = time.perf_counter() - start
            rises = found.decisions - found.baseline
            gaps = [abs(own.sum() - rise) for own, rise in zip(shares, rises, strict=True)]
            errors = [np.abs(own - found.of(g)).max() for g, own in enumerate(shares)]
            ranks = [spearmanr(own, found.of(g)).statistic for g, own in enumerate(shares)]
            record(
                "alternatives",
                f"{name}, {way}",
                missing=float(np.mean(gaps) / np.mean(np.abs(rises))),
                difference=float(np.mean(errors)),
                largest_share=float(np.mean([np.abs(found.of(g)).max() for g in range(20)])),
                rank_correlation=float(np.mean(ranks)),
                seconds=seconds,
                seconds_integrated=own_seconds,
            )


# cost


def bench_speed(tables):
    graphs, targets = molecules(tables)
    order = np.random.default_rng(0).permutation(len(graphs))
    train, test = order[:1000], graphs[order[1000:2000]]
    for engine, kernel in ENGINES.items():
        model = GraphClassifier(kernel, random_state=0)
        model.fit(graphs[train], targets[train])
        model.predict(test[:20])
        start = time.perf_counter()
        model.explain(test[:20])
        first = time.perf_counter() - start
        predicting = best_time(lambda m=model: m.predict(test), 9)
        explaining = best_time(lambda m=model: m.explain(test), 9)
        record(
            "speed",
            engine,
            support=len(model.support_),
            predict_seconds=predicting,
            explain_seconds=explaining,
            ratio=explaining / predicting,
            first_call_seconds=first,
        )


PARTS = ("motifs", "fragments", "groups", "deletion", "alternatives", "speed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="folder of the benchmark sets")
    parser.add_argument("tables", help="folder of the tables of molecules")
    parser.add_argument("--part", choices=PARTS)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    parts = {
        "motifs": bench_motifs,
        "fragments": lambda: bench_fragments(chosen.tables),
        "groups": lambda: bench_groups(chosen.folder),
        "deletion": lambda: bench_deletion(chosen.folder, chosen.tables),
        "alternatives": lambda: bench_alternatives(chosen.folder, chosen.tables),
        "speed": lambda: bench_speed(chosen.tables),
    }
    for part, run in parts.items():
        if chosen.part in (None, part):
            run()


if __name__ == "__main__":
    main()
