"""Structural formulas of molecules with their atoms coloured by shares, as RDKit draws them."""

from typing import Any

from numpy.typing import ArrayLike

from retgk.errors import InvalidInputError
from retgk.plot.share_colours import checked_shares, colour_limit, share_rgb
from retgk.runtime.optional_packages import optional_module

__all__ = ["explained_molecule"]


def explained_molecule(
    molecule: Any,
    shares: ArrayLike,
    *,
    limit: float | None = None,
    size: tuple[int, int] = (360, 280),
) -> str:
    """
    Draw the structural formula of a molecule, its atoms coloured by shares of a decision value.

    Colours are those of `explained_graph`: orange for the target, blue against it.

    Parameters
    ----------
    molecule : rdkit.Chem.Mol or str
        The molecule, or its SMILES string; with its hydrogens, if these have shares too.
    shares : array-like, shape (n_atoms,)
        Shares of its atoms, as `Explanation.of` gives them.
    limit : float, optional
        Share of the darkest colours; by default the largest there is.
    size : tuple of int, default=(360, 280)
        Width and height in pixels.

    Returns
    -------
    str
        The drawing as SVG.

    Examples
    --------
    >>> explained_molecule("CCO", [0.1, 0.0, -0.3]).count("<ellipse")
    2
    """
    chem = optional_module("rdkit.Chem", "rdkit")
    drawer_module = optional_module("rdkit.Chem.Draw.rdMolDraw2D", "rdkit")
    found = chem.MolFromSmiles(molecule) if isinstance(molecule, str) else molecule
    if found is None:
        raise InvalidInputError(f"RDKit cannot read {molecule!r:.80} as a molecule")
    n_atoms = found.GetNumAtoms()
    with_hydrogens = chem.AddHs(found)
    if isinstance(molecule, str) and len(shares) == with_hydrogens.GetNumAtoms() != n_atoms:  # type: ignore[arg-type]
        found, n_atoms = with_hydrogens, len(shares)  # type: ignore[arg-type]
    values = checked_shares(shares, n_atoms)
    most = colour_limit(values, limit)
    coloured = [atom for atom in range(n_atoms) if abs(values[atom]) > 0.02 * most]
    drawer = drawer_module.MolDraw2DSVG(*size)
    options = drawer.drawOptions()
    options.useBWAtomPalette()
    options.highlightRadius = 0.38
    options.fillHighlights = True
    options.prepareMolsBeforeDrawing = True
    drawer_module.PrepareAndDrawMolecule(
        drawer,
        found,
        highlightAtoms=coloured,
        highlightAtomColors={atom: share_rgb(values[atom], most) for atom in coloured},
        highlightBonds=[],
    )
    drawer.FinishDrawing()
    return str(drawer.GetDrawingText())
