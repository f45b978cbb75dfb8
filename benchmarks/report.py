"""Write the tables of the documentation, and the README's list of numbers, from the stored records.

python -m benchmarks.report [--check]
"""

import argparse
import re
import sys
from functools import partial
from pathlib import Path

from benchmarks.guide_tables import exact_or_vectors, fit_memory
from benchmarks.kernel_tables import (
    joint_table,
    peers_table,
    phases_table,
    refinement_table,
    retgk1_table,
    retgk2_table,
    rpf_table,
    tolerance_table,
)
from benchmarks.markdown_tables import run_line, table
from benchmarks.model_tables import (
    classifier_table,
    explanations_tables,
    explorer_tables,
    molecules_table,
)
from benchmarks.paper_tables import paper_highlights, paper_table
from benchmarks.population_tables import PARTS as POPULATION_PARTS
from benchmarks.records import FOLDER, read_records
from benchmarks.scale_tables import (
    INDEX_COLUMNS,
    index_table,
    large_graph_table,
    scaling_table,
    stream_table,
)

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *(
        ROOT / "docs" / f"{name}.md"
        for name in (
            "benchmarks",
            "similarity_search",
            "guide/exact_or_vectors",
            "guide/molecules",
            "guide/performance",
        )
    ),
]


def population_table(name):
    if not (FOLDER / f"{name}.jsonl").exists():
        return "There are no records yet."
    header, rows = POPULATION_PARTS[name]()
    return f"{table(header, rows)}\n\n{run_line(read_records(name)[-1])}"


def guide_table(record_name, rows_of):
    header, rows = rows_of()
    return f"{table(header, rows)}\n\n{run_line(read_records(record_name)[0])}"


TABLES = {
    **{f"index-{step}": partial(index_table, step) for step in INDEX_COLUMNS},
    "classifier": classifier_table,
    "exact-or-vectors": partial(guide_table, "retgk1", exact_or_vectors),
    "explanations": explanations_tables,
    "explorer": explorer_tables,
    "fit-memory": partial(guide_table, "fit", fit_memory),
    "highlights": paper_highlights,
    "joint": joint_table,
    "large_graph": large_graph_table,
    "molecules": molecules_table,
    "molecules-by-scaffold": partial(molecules_table, "scaffold"),
    "paper": paper_table,
    "peers": peers_table,
    "phases": phases_table,
    "refinement": refinement_table,
    "retgk1": retgk1_table,
    "retgk2": retgk2_table,
    "rpf": rpf_table,
    "scaling": scaling_table,
    "stream": stream_table,
    "tolerance": tolerance_table,
    **{name: partial(population_table, name) for name in POPULATION_PARTS},
}


def with_tables(text):
    """A page with every table made anew."""
    for name, make in TABLES.items():
        pattern = rf"(<!-- table: {name} -->\n).*?(<!-- end -->)"
        text = re.sub(pattern, lambda m, make=make: f"{m[1]}{make()}\n{m[2]}", text, flags=re.S)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a page is out of date")
    is_check = parser.parse_args().check
    for page in PAGES:
        text = page.read_text()
        made = with_tables(text)
        if is_check and made != text:
            sys.exit(f"{page.name} is not what the records give")
        page.write_text(made)


if __name__ == "__main__":
    main()
