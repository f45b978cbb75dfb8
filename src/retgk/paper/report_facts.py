"""Sentences on where the numbers of a report come from, and on how to read its fields."""

from collections import Counter
from collections.abc import Iterable, Sequence

from retgk.paper.records import Record

__all__ = ["facts", "legend", "listed", "n_of"]

_PACKAGES = {
    "python": "Python",
    "numpy": "NumPy",
    "scipy": "SciPy",
    "numba": "numba",
    "scikit-learn": "scikit-learn",
    "grakel": "GraKeL",
    "retgk": "retgk",
}


def legend(*, is_page: bool) -> str:
    """How to read a field: in the page, which has colours, or in Markdown, which has none."""
    above, below = ("Blue and ▲", "orange and ▼") if is_page else ("Bold and ▲", "bold and ▼")
    return (
        "In a field: the mean accuracy over repetitions here, with its standard deviation over "
        "them in brackets, and below it that of the paper; the difference is in published standard "
        f"deviations (sd). {above}: above the tolerance, {below}: below it. In italics: quoted "
        "from the paper, not computed here. Empty: in neither. WL, SP, GK and CSM are GraKeL's; "
        "their settings are not the paper's, so that they are not judged."
    )


def facts(records: Sequence[Record], n_unknown: int, still_open: str) -> list[str]:
    """
    Where the numbers come from.

    Parameters
    ----------
    records : sequence of dict
        All that were read.
    n_unknown : int
        Number of those that belong to no cell.
    still_open : str
        Sentence on what is to be run, or nothing.

    Returns
    -------
    list of str
        Sentences.
    """
    days = sorted({record["time"][:10] for record in records})
    period = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    found = [
        f"Made from {n_of(len(records), 'record')}, {period}; "
        f"{_machines(records)}; {_versions(records)}.",
        *_sources(records),
        "Accuracies of the tables are by the paper's protocol, whose medians see test graphs too; "
        "see Protocols. RetGK_II draws its frequencies (and walks) anew for each repetition.",
        still_open,
    ]
    unfinished = sum(record.get("n_unfinished", 0) for record in records)
    if unfinished:
        found.append(f"{n_of(unfinished, 'support vector machine')} hit the limit of iterations.")
    if n_unknown:
        found.append(f"Left out, of no cell of this version: {n_of(n_unknown, 'record')}.")
    return [sentence for sentence in found if sentence]


def _counted(names: Iterable[str]) -> str:
    """Distinct names; with the number of records of each, if there are several."""
    counts = Counter(names)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{name} ({n_of(n, 'record')})" for name, n in counts.items())


def listed(names: Sequence[str]) -> str:
    """Names as a text has them: a, b and c."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def n_of(number: int, thing: str) -> str:
    """A number of things, with the word in its form."""
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


def _machines(records: Sequence[Record]) -> str:
    machines = (record["machine"] for record in records)
    return _counted(f"{n_of(each['cores'], 'core')} of {each['cpu']}" for each in machines)


def _versions(records: Sequence[Record]) -> str:
    parts = []
    for key, name in _PACKAGES.items():
        known = dict.fromkeys(
            record["versions"][key] for record in records if key in record["versions"]
        )
        if known:
            parts.append(f"{name} {' and '.join(known)}")
    return ", ".join(parts)


def _sources(records: Sequence[Record]) -> list[str]:
    """On the state of the computing code; older records do not tell."""
    digests = [record["versions"].get("source", "not noted") for record in records]
    if set(digests) == {"not noted"}:
        return []
    return [f"Digest of the computing code: {_counted(digests)}."]
