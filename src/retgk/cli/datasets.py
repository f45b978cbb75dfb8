"""`retgk datasets`: collections that can be had by name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from retgk.cli.command import command
from retgk.cli.options import DATA_HOME_ADVICE, Common, DataHome, DataSetNames
from retgk.cli.terminal import note, print_record, print_table
from retgk.io.datasets.catalogue import SUBJECT_OF, TUDATASETS

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="List and fetch collections of graphs.")

Here = Annotated[bool, typer.Option("--here", help="Only those that need no download.")]


def _list(common: Common, data_home: DataHome = None, here: Here = False) -> None:
    """List the collections that can be named instead of a file."""
    from retgk.runtime.storage import data_home_folder

    home = data_home_folder(data_home)
    present = _names_in(home)
    names = sorted({*TUDATASETS, *present}, key=str.lower)
    entries = [{"name": "digits", "subject": "computer vision", "here": True}]
    entries += [
        {"name": name, "subject": SUBJECT_OF.get(name, "your own"), "here": name in present}
        for name in names
    ]
    shown = [entry for entry in entries if entry["here"] or not here]
    if common.json:
        print_record({"data_home": str(home), "datasets": shown})
        return
    rows = [(e["name"], e["subject"], "yes" if e["here"] else "") for e in shown]
    print_table(["name", "subject", "here"], rows)
    note(common, f"fetched collections are kept in {home}")


def _names_in(folder: Path) -> set[str]:
    """Collections in the data home, packed or not."""
    if not folder.is_dir():
        return set()
    archives = {path.stem for path in folder.glob("*.zip")}
    folders = {path.parent.name for path in folder.glob("*/*_A.txt")}
    return archives | {name for name in folders if (folder / name / f"{name}_A.txt").is_file()}


def _fetch(names: DataSetNames, common: Common, data_home: DataHome = None) -> None:
    """Fetch collections into the data home, and check that they can be read."""
    from retgk.io.datasets.tudataset import load_tudataset

    for name in names:
        dataset = load_tudataset(name, data_home)
        if common.json:
            print_record({"name": name, "graphs": len(dataset), "nodes": dataset.graphs.n_nodes})
        else:
            note(common, f"{name}: {dataset.graphs!r}")


command(app, name="list", examples=["retgk datasets list", "retgk datasets list --here --json"])(
    _list
)
command(
    app,
    name="fetch",
    examples=["retgk datasets fetch MUTAG ENZYMES"],
    advice=DATA_HOME_ADVICE,
)(_fetch)
