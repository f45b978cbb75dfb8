"""What neighbours in an index mean: Tanimoto similarities, and the exact kernel beside them."""

import numpy as np

from benchmarks.index_molecules import FEW, K, held_out, index_of, smiles_in


def fingerprints(molecules):
    from rdkit import Chem
    from rdkit.Chem import rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    return [generator.GetFingerprint(Chem.MolFromSmiles(text)) for text in molecules]


def tanimoto(queries, neighbours):
    """Mean similarity of queries to neighbours of their own, and its standard error."""
    from rdkit.DataStructs import BulkTanimotoSimilarity

    each = [
        np.mean(BulkTanimotoSimilarity(one, others))
        for one, others in zip(queries, neighbours, strict=True)
    ]
    return {
        "n_queries": len(each),
        "tanimoto": round(float(np.mean(each)), 3),
        "tanimoto_error": round(float(np.std(each) / len(each) ** 0.5), 3),
    }


def share_of_nearest(exact, rows):
    """Share of rows that are no farther, by exact distances, than the tenth nearest."""
    limit = np.sort(exact, axis=1)[:, K - 1 : K] * (1 + 1e-6) + 1e-9
    return round(float((np.take_along_axis(exact, rows, axis=1) <= limit).mean()), 3)


def meaning(arguments):
    """
    Mean Tanimoto similarity (Morgan, radius 2, 2048 bits) of ten neighbours, for 200 queries.

    In one collection of 50,000 (`--most`), because the exact kernel compares with all: ours, those
    of the exact kernel, random ones, and those by fingerprints, the most there can be. Ours in the
    whole index stand beside them.
    """
    from rdkit.DataStructs import BulkTanimotoSimilarity

    from retgk import GraphIndex
    from retgk.io import from_smiles
    from retgk.search import distances

    queries = held_out(arguments.molecules, 200)
    molecules = smiles_in(arguments.molecules)[: arguments.most or FEW]
    asked, graphs = from_smiles(queries, n_jobs=1), from_smiles(molecules, n_jobs=1)
    of_queries, of_all = fingerprints(queries), fingerprints(molecules)
    exact = distances(asked, graphs)
    best = [np.argsort(BulkTanimotoSimilarity(one, of_all))[::-1][:K] for one in of_queries]
    index = index_of(graphs, keep_graphs=True)
    chosen = {
        "random": np.random.default_rng(0).integers(len(molecules), size=(len(queries), K)),
        "exact kernel": np.argsort(exact, axis=1, kind="stable")[:, :K],
        "index": index.query(asked, K).ids,
        "index, rerank=100": index.query(asked, K, rerank=100).ids,
        "index, depth=2": index_of(graphs, depth=2).query(asked, K).ids,
        "fingerprints": np.array(best),
    }
    records = [
        {
            "n_graphs": len(molecules),
            "method": name,
            **tanimoto(of_queries, [[of_all[row] for row in found] for found in rows]),
            "share_of_nearest": share_of_nearest(exact, rows),
        }
        for name, rows in chosen.items()
    ]
    if arguments.folder.is_dir():
        whole = GraphIndex.load(arguments.folder)
        found = [fingerprints(row) for row in whole.query(asked, K).ids]
        records.append({"n_graphs": len(whole), "method": "index", **tanimoto(of_queries, found)})
    return records


def columns(arguments):
    """What fewer columns and bytes cost: share of the exact kernel's ten nearest."""
    from retgk.io import from_smiles
    from retgk.search import distances

    molecules = smiles_in(arguments.molecules)[: arguments.most or FEW]
    graphs = from_smiles(molecules, n_jobs=1)
    asked = from_smiles(held_out(arguments.molecules, 100), n_jobs=1)
    exact = distances(asked, graphs)
    records = []
    for n_components, n_columns, storage in (
        (256, 256, "float16"),
        (2048, 2048, "float16"),
        (1024, 256, "int8"),
        (2048, 64, "int8"),
        (2048, 128, "int8"),
        (2048, 256, "float16"),
        (2048, 256, "int8"),
        (2048, 512, "int8"),
    ):
        index = index_of(graphs, n_components, n_columns=n_columns, storage=storage)
        found = index.query(asked, K)
        near = np.take_along_axis(exact, found.ids, axis=1)
        records.append(
            {
                "n_graphs": len(molecules),
                "n_components": n_components,
                "columns": n_columns,
                "storage": storage,
                "bytes_per_graph": n_columns * np.dtype(storage).itemsize,
                "share_of_nearest": share_of_nearest(exact, found.ids),
                "distance_over_exact": round(float((found.distances / near).mean()), 3),
            }
        )
    return records
