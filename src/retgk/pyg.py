"""`AddReturnProbabilities`: a transform for PyTorch Geometric, which it needs."""

from importlib import import_module
from types import SimpleNamespace
from typing import Any

from retgk._runtime.names import optional_module
from retgk.io.pyg import from_pyg
from retgk.walks.probabilities import return_probabilities

__all__ = ["AddReturnProbabilities"]


def __dir__() -> list[str]:
    return __all__


def _base_of_transforms() -> Any:
    """Class of all transforms, or plain object where PyTorch Geometric is not installed."""
    try:
        return import_module("torch_geometric.transforms").BaseTransform
    except ImportError:
        return object


class AddReturnProbabilities(_base_of_transforms()):  # type: ignore[misc]
    r"""
    Transform that adds the return probabilities of every node, as a positional encoding.

    They are those of :func:`retgk.return_probabilities`: :math:`[P^s(i, i)]_{s=1}^S` for the walk
    with weights and self-loops. With ``self_loop=0`` and without weights, that is what
    ``torch_geometric.transforms.AddRandomWalkPE`` adds, up to nodes without edges (here they
    stay where they are and have ones, there zeros). Unlike it, a weighted walk moves by its weights
    here, parallel edges add up, and memory grows with nodes and edges rather than with the square
    of the nodes.

    Parameters
    ----------
    n_steps : int, default=20
        Number S of steps, the width of the encoding.
    attr_name : str or None, default="pe"
        Field of the ``Data`` to set; None puts the encoding beside the columns of `x`.
    weight : str or None, default="edge_weight"
        Field that holds the weights of edges; a graph without it is unweighted, and so are all
        with None.
    symmetrize : bool, default=False
        Whether to drop the directions of directed graphs; otherwise they are an error.
    **walk_options
        Further arguments of `return_probabilities`, such as `self_loop` or `method`.

    Examples
    --------
    >>> from retgk.pyg import AddReturnProbabilities
    >>> AddReturnProbabilities(n_steps=16, self_loop=0)
    AddReturnProbabilities(n_steps=16, attr_name='pe', self_loop=0)
    """

    def __init__(
        self,
        n_steps: int = 20,
        attr_name: str | None = "pe",
        *,
        weight: str | None = "edge_weight",
        symmetrize: bool = False,
        **walk_options: Any,
    ) -> None:
        self.n_steps = n_steps
        self.attr_name = attr_name
        self.weight = weight
        self.symmetrize = symmetrize
        self.walk_options = walk_options

    def forward(self, data: Any) -> Any:
        """
        Add the encoding to a graph.

        Parameters
        ----------
        data : torch_geometric.data.Data
            One graph, or a ``Batch``, whose graphs do not touch each other.

        Returns
        -------
        torch_geometric.data.Data
            The same object, with the field set.
        """
        torch = optional_module("torch", "pyg")
        members = data.to_data_list() if hasattr(data, "to_data_list") else [data]
        graphs = from_pyg(
            [self._structure(member) for member in members],
            weight=self.weight and "edge_weight",
            symmetrize=self.symmetrize,
        )
        found = return_probabilities(graphs, self.n_steps, **self.walk_options)
        like: Any = getattr(data, "x", None)
        is_real = like is not None and like.is_floating_point()
        kind = like.dtype if is_real else torch.get_default_dtype()
        encoding = torch.as_tensor(found, dtype=kind, device=data.edge_index.device)
        if self.attr_name is not None:
            data[self.attr_name] = encoding
        elif like is None:
            data.x = encoding
        else:
            columns = like.view(-1, 1) if like.dim() == 1 else like
            data.x = torch.cat([columns, encoding.to(columns.dtype)], dim=-1)
        return data

    def _structure(self, graph: Any) -> SimpleNamespace:
        """Edges, their weights and the number of nodes: nothing else of a graph matters here."""
        weights = None if self.weight is None else getattr(graph, self.weight, None)
        return SimpleNamespace(
            edge_index=graph.edge_index, edge_weight=weights, num_nodes=graph.num_nodes
        )

    def __repr__(self) -> str:
        options = {"n_steps": self.n_steps, "attr_name": self.attr_name, **self.walk_options}
        shown = ", ".join(f"{name}={value!r}" for name, value in options.items())
        return f"{type(self).__name__}({shown})"
