"""Pages of `explore`: size, time to write, time until interactive, frames, memory, neighbours kept.

    python -m benchmarks.bench_explorer FOLDER TABLES [--set NAME] [--pages FOLDER] [--queries 2000]

FOLDER holds the benchmark sets, TABLES the tables of molecules. Sets: digits and MUTAG (with a
model fitted on half of them), IMDB-BINARY, BBBP (structural formulas), and `molecules` (100,000 of
MOSES).
Pages are opened from files in headless Chromium, which draws as it does where there is no graphics
card; frames are those drawn while the map is dragged, and zoomed, for three seconds each, beside
those of the same page at rest. Neighbours are the ten nearest by the exact kernel
(`distances`; of `molecules`, by the vectors), of some graphs among all, and what share of
them is among the ten nearest on the map of the page, beside kernel PCA.
"""

import argparse
import gzip
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.molecule_sets import load_set
from benchmarks.records import add_record
from retgk import GraphClassifier, explore
from retgk._runtime.processes import peak_megabytes
from retgk.datasets import load_digit_graphs, load_tudataset
from retgk.explorer.map import map_places
from retgk.io import from_smiles
from retgk.kernels import RetGKEmbedding
from retgk.search import distances
from tests.explorer_pages import chromium, unpacked

MANY = 100_000
MOVING = """async (how) => {
  const { map } = retgkExplorer;
  const [times, costs] = [[], []];
  const start = performance.now();
  for (let now = start; now < start + 3000; ) {
    const before = performance.now();
    if (how === "drag") map.x += 6 * Math.sin((now - start) / 300);
    if (how === "zoom") map.zoomBy(1 + 0.02 * Math.cos((now - start) / 300));
    if (how !== "rest") map.draw();
    costs.push(performance.now() - before);
    now = await new Promise(requestAnimationFrame);
    times.push(now);
  }
  costs.sort((a, b) => a - b);
  return [1000 * (times.length - 1) / (times.at(-1) - times[0]), costs[costs.length >> 1]];
}"""


def arguments_of(name, folder, tables):
    """What `explore` is called with."""
    if name == "digits":
        data = load_digit_graphs()
        model = GraphClassifier(random_state=0).fit(data.graphs[::2], data.targets[::2])
        places = data.graphs.attributes[:, [2, 1]]
        return {"graphs": data, "model": model, "positions": places}
    if name == "MUTAG":
        data = load_tudataset(name, folder)
        model = GraphClassifier(random_state=0).fit(data.graphs[::2], data.targets[::2])
        return {"graphs": data, "model": model}
    if name == "BBBP":
        data = load_set(name, tables)
        return {"graphs": list(data.smiles), "y": np.asarray(data.targets), "title": name}
    if name == "molecules":
        return {"graphs": moses(tables), "title": "100,000 molecules of MOSES"}
    return {"graphs": load_tudataset(name, folder)}


def moses(tables):
    with gzip.open(Path(tables) / "moses_train.csv.gz", "rt") as lines:
        column = next(lines).strip().split(",").index("SMILES")
        return [next(lines).split(",")[column].strip() for _ in range(MANY)]


def in_browser(file):
    """Seconds until the page is interactive, frames a second, megabytes of the tab."""
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.set_default_timeout(120_000)
        before = set(renderers())
        page.goto(file.resolve().as_uri())
        page.wait_for_selector("html[data-ready]")
        ready = page.evaluate("performance.getEntriesByName('interactive')[0].startTime") / 1000
        idle, _ = page.evaluate(MOVING, "rest")
        frames, cost = page.evaluate(MOVING, "drag")
        zoom_frames, zoom_cost = page.evaluate(MOVING, "zoom")
        peak = max(peak_of(process) for process in set(renderers()) | before)
        page.close()
    return {
        "seconds_until_interactive": ready,
        "frames_per_second": frames,
        "idle_frames_per_second": idle,  # what the machine manages with nothing to draw
        "script_milliseconds_per_frame": cost,
        "zoom_frames_per_second": zoom_frames,
        "zoom_script_milliseconds_per_frame": zoom_cost,
        "tab_megabytes": peak,
    }


def renderers():
    """Processes of tabs that are open."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"--type=renderer" in (folder / "cmdline").read_bytes():
                yield folder
        except OSError:
            continue


def peak_of(process):
    try:
        lines = (process / "status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def neighbours_kept(graphs, places, n_queries):
    """Share of the ten nearest graphs that are among the ten nearest on the map."""
    is_small = len(graphs) <= 3000
    vectors = RetGKEmbedding(
        n_components=4096 if is_small else 1024, dtype=np.float32, random_state=0
    )
    vectors = np.asarray(vectors.fit_transform(graphs), np.float32)
    rng = np.random.default_rng(0)
    queries = rng.choice(len(graphs), min(n_queries, len(graphs)), replace=False)
    gaps = distances(graphs[queries], graphs) if is_small else squared(vectors, queries)
    known = ten_nearest(gaps, queries)
    flat = map_places(vectors, "pca", 0).places
    return {
        "kept_by_tsne": share_kept(known, places, queries),
        "kept_by_pca": share_kept(known, flat, queries),
        "neighbours_by": "exact kernel" if is_small else "vectors",
    }


def share_kept(known, places, queries):
    pairs = zip(known, ten_nearest(squared(places, queries), queries), strict=True)
    return float(np.mean([len(set(a) & set(b)) / 10 for a, b in pairs]))


def squared(points, queries):
    """Squared distances of some points to all, less a number for each of the former."""
    return np.einsum("ij,ij->i", points, points) - 2 * points[queries] @ points.T


def ten_nearest(gaps, queries):
    gaps[np.arange(len(queries)), queries] = np.inf
    return np.argsort(gaps, axis=1, kind="stable")[:, :10]


def measure(name, folder, tables, pages, n_queries):
    given = arguments_of(name, folder, tables)
    graphs = given.pop("graphs")
    start, start_work = time.perf_counter(), time.process_time()
    page = explore(graphs, **given)
    file = page.save(pages / f"{name}.html")
    seconds, work = time.perf_counter() - start, time.process_time() - start_work
    record = {
        "set": name,
        "graphs": page.n_graphs,
        "drawn": page.n_drawn,
        "megabytes": file.stat().st_size / 1e6,
        "seconds_to_write": seconds,
        "processor_seconds_to_write": work,
        "write_megabytes": peak_megabytes(),
        **in_browser(file),
    }
    batch = from_smiles(graphs) if isinstance(graphs, list) else graphs.graphs
    _, arrays = unpacked(page.text)
    record |= neighbours_kept(batch, arrays["map"].reshape(-1, 2).astype(float), n_queries)
    print(
        {
            key: round(value, 3) if isinstance(value, float) else value
            for key, value in record.items()
        }
    )
    add_record("explorer", record, "set")


SETS = ("digits", "MUTAG", "BBBP", "IMDB-BINARY", "molecules")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("tables")
    parser.add_argument("--set", choices=SETS, action="append")
    parser.add_argument("--pages", type=Path, help="folder to keep the pages in")
    parser.add_argument("--queries", type=int, default=2000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        pages = given.pages or Path(temporary)
        pages.mkdir(parents=True, exist_ok=True)
        for name in given.set or SETS:
            measure(name, given.folder, given.tables, pages, given.queries)


if __name__ == "__main__":
    main()
