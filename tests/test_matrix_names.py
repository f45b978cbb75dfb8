"""Tables of a matrix as pandas and R write them, with names of rows and columns."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from retgk import InvalidInputError, from_numpy, read_graphs
from retgk.io.formats import format_of

MATRIX = np.array([[0, 0.5, 0, 0], [0.5, 0, 2, 0], [0, 2, 1, 0.25], [0, 0, 0.25, 0]])
COUNTED = pd.DataFrame(MATRIX)
NAMES = [f"region {number}" for number in range(4)]
NAMED = pd.DataFrame(MATRIX, NAMES, NAMES)
LEFT = [f"{name}, left" for name in NAMES]
R_HEADING = [f'"region.{number}"' for number in range(4)]  # R puts dots for spaces, not in rows
R_ROWS = [[f'"{name}"', *map(str, row)] for name, row in zip(NAMES, MATRIX, strict=True)]


def lines(rows: list[list[str]], mark: str) -> str:
    return "\n".join(mark.join(row) for row in rows)


EXPORTED = {
    "pandas": NAMED.to_csv(),
    "pandas, counted": COUNTED.to_csv(),
    "pandas, name of the index": NAMED.rename_axis("region").to_csv(),
    "pandas, no index": NAMED.to_csv(index=False),
    "pandas, tabs": NAMED.to_csv(sep="\t"),
    "pandas, commas in names": pd.DataFrame(MATRIX, LEFT, LEFT).to_csv(),
    "R, write.csv": lines([['""', *R_HEADING], *R_ROWS], ","),
    "R, counted": pd.DataFrame(MATRIX, range(1, 5), [f"V{i}" for i in range(1, 5)]).to_csv(),
    "R, names that are numbers": pd.DataFrame(
        MATRIX, [7, 9, 3, 4], ["X7", "X9", "X3", "X4"]
    ).to_csv(),
    "R, write.table": lines([R_HEADING, *R_ROWS], " "),
}


@pytest.mark.parametrize("name", EXPORTED)
def test_names_are_left_out(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(EXPORTED[name])
    assert format_of(path).name == "matrices"
    assert read_graphs(path).graphs == from_numpy(MATRIX)


def test_names_of_rows_alone(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(NAMED.to_csv(header=False))
    assert read_graphs(path, format="matrices").graphs == from_numpy(MATRIX)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (NAMED.loc[NAMES[::-1]].to_csv(), "row 1 is named 'region 3' and column 1 'region 0': "),
        (COUNTED.loc[[0, 2, 1, 3]].to_csv(), "row 2 is named '2' and column 2 '1'"),
        (COUNTED.to_csv(index=False), "has 5 rows of 4 numbers, and an adjacency matrix is square"),
        (COUNTED.to_csv(header=False), "has 4 rows of 5 numbers, and an adjacency matrix is squ"),
        (NAMED.iloc[:3].to_csv(), "has 3 rows of 4 numbers"),
        ("a,b\n0,1\n1,x\n", "line 3, column 2: 'x' is not a number"),
        ("NA,NA\n0,1\n", "line 1, column 1: 'NA' is not a number"),
        (",a,b,c\na,0,1\nb,1,0\n", "names 3 columns, but rows have 2 numbers"),
        ("a,0,1\nb,1,0\n2,1,0\n", "has 3 rows of 2 numbers"),
        ('a,b\n0,"1\n1,0\n', "line 2, column 2: "),
    ],
)
def test_rows_are_never_shifted_in_silence(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        read_graphs(path, format="matrices")


@pytest.mark.parametrize(
    "text",
    [
        ",source,target,weight\n0,0,1,0.5\n1,1,2,1.0\n2,0,2,1.0\n",
        "smiles,a,b,c\nC,1,2,3\nCC,1,2,3\nCCC,1,2,3\n",
        "id,a,b,c\nx,1,2,3\ny,1,2,3\nz,1,2,3\n",
    ],
)
def test_tables_that_are_no_matrices(text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    try:
        assert format_of(path) != "matrices"
    except InvalidInputError as error:
        assert "cannot be recognised" in str(error)  # noqa: PT017
