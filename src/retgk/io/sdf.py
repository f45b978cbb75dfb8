"""Molecules with their structure: SDF files, which hold properties too, and MOL files."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from retgk._runtime.files import text_lines
from retgk.errors import InvalidInputError
from retgk.io.dataset import GraphDataset
from retgk.io.formats import Format, Sample
from retgk.io.molecules import FileMolecule, SmilesReading, dataset_of_molecules
from retgk.io.rdkit import rdkit_chem
from retgk.io.tables import column_position, single_column

_END = "$$$$"
_MOST_LETTERS = 1 << 21  # some twenty thousand atoms
_MEMORY_FACTOR = 8
_OPTIONS = tuple(name for name in SmilesReading.__dataclass_fields__ if name != "smiles_column")


class _Record(NamedTuple):
    line: int
    block: str
    properties: dict[str, str]


def _read(files: list[Path], *, n_jobs: int | None = None, **options: Any) -> GraphDataset:
    if len(files) > 1:
        raise InvalidInputError("molecules of SDF and MOL files are read from one file")
    (path,), reading = files, SmilesReading(**options)
    records = list(_records(path))
    names = list(dict.fromkeys(name for record in records for name in record.properties))
    target = single_column(reading.target_column)
    if target is not None and records:
        target = names[column_position(names, target, path, "target_column")]
    molecules = []
    for number, (line, block, properties) in enumerate(records):
        value = None if target is None else properties.get(target, "")
        if value == "" and not reading.skip_invalid:
            raise InvalidInputError(
                f"{path}, line {line}: the molecule has no property {target!r}; fill it in, or "
                "drop the molecule; skip_invalid=True leaves such out"
            )
        name = block.split("\n", 1)[0].strip() or f"molecule {number}"
        molecules.append(FileMolecule(line, block if value != "" else "", name, value))
    return dataset_of_molecules(path, molecules, reading, n_jobs, parse=molecule_of_block)


def molecule_of_block(text: str) -> Any:
    """Molecule of a record, or None; hydrogens that it lists are left out, as those of SMILES."""
    return rdkit_chem().MolFromMolBlock(text) if text else None


def _records(path: Path) -> Iterator[_Record]:
    """Records of a file with the lines they start on."""
    first, lines, n_letters = 1, list[str](), 0
    for number, line in text_lines(path):
        if line.rstrip() != _END:
            lines.append(line)
            n_letters += len(line)
            if n_letters > _MOST_LETTERS:
                raise InvalidInputError(
                    f"{path}, line {first}: a molecule of more than {_MOST_LETTERS} letters, for "
                    "which RDKit takes gigabytes"
                )
            continue
        yield _record(first, lines)
        first, lines, n_letters = number + 1, [], 0
    if any(map(str.strip, lines)):  # a MOL file, or a last record without an end
        yield _record(first, lines)


def _record(first: int, lines: list[str]) -> _Record:
    end = next((at for at, line in enumerate(lines) if line.startswith("M  END")), len(lines))
    return _Record(first, "\n".join(lines[: end + 1]), _properties(lines[end + 1 :]))


def _properties(lines: Iterable[str]) -> dict[str, str]:
    """Values that stand below a line ``> <name>``, up to an empty one."""
    found: dict[str, str] = {}
    name = None
    for line in lines:
        if line.startswith(">") and "<" in line:
            name = line.split("<", 1)[1].rpartition(">")[0]
            found[name] = ""
        elif not line.strip():
            name = None
        elif name is not None:
            found[name] = f"{found[name]}\n{line.strip()}".strip()
    return found


def _sniff(sample: Sample) -> bool:
    counts = sample.text.splitlines()[3:4]
    return bool(counts) and counts[0].rstrip().endswith(("V2000", "V3000"))


SDF = Format(
    name="sdf",
    endings=(".sdf", ".mol"),
    read=_read,
    options=(*_OPTIONS, "n_jobs"),
    sniff=_sniff,
    memory_factor=_MEMORY_FACTOR,
    in_folder=(),
    example=b"""ethanol
  by hand

  3  2  0  0  0  0  0  0  0  0999 V2000
    0.0000    0.0000    0.0000 C   0  0
    1.5000    0.0000    0.0000 C   0  0
    2.2500    1.2990    0.0000 O   0  0
  1  2  1  0
  2  3  1  0
M  END
>  <y>
1.5

$$$$
""",
)
