"""
From graphs to accuracies of a network, on the folds of the paper's protocol.

A network trains on the training part of a fold; of its epochs that with the best accuracy on the
validation part counts (then with the smallest loss there), as C is chosen for kernels. How many
nodes PSCN and DGCNN keep goes by the sizes of all graphs, as medians do in that protocol.
Everything random depends on the seed and on the fold, and every fold has one thread, so that the
number of processes changes nothing.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from reproduction.networks.deep_graph_cnn import DeepGraphCNN
from reproduction.networks.inputs import network_inputs
from reproduction.networks.patchy_san import PatchySan, patchy_inputs
from retgk._runtime.names import optional_module
from retgk._runtime.parallel import n_threads
from retgk._runtime.processes import ordered_results
from retgk.array_types import Ints
from retgk.graphs.batch import GraphBatch
from retgk.learning.paper_protocol import FoldResult, PaperFold, Targets, paper_folds

Settings = Mapping[str, Any]


class Network(NamedTuple):
    inputs: Callable[[Any, Settings], Any]
    """From the inputs of all networks to its own, once for all folds."""
    model: Callable[[Any, int], Any]
    """From its inputs and the number of classes to a model with `layers` and `scores`."""
    optimizer: str
    """Name of a class of ``torch.optim``."""


NETWORKS = {
    "PSCN": Network(patchy_inputs, PatchySan, "RMSprop"),
    "DGCNN": Network(lambda inputs, _: inputs, DeepGraphCNN, "Adam"),
}
"""By column of the tables."""


def network_results(
    graphs: GraphBatch, targets: Targets, settings: Settings, seed: int, n_jobs: int | None = None
) -> list[FoldResult]:
    optional_module("torch", "networks")
    inputs = NETWORKS[settings["kernel"]].inputs(network_inputs(graphs), settings)
    codes = np.unique(targets, return_inverse=True)[1]
    folds = paper_folds(len(graphs), seed, settings["folds"])
    pieces = [(inputs, codes, fold, settings, [seed, number]) for number, fold in enumerate(folds)]
    return list(ordered_results(fold_result, pieces, n_threads(n_jobs)))


def fold_result(
    inputs: Any, codes: Ints, fold: PaperFold, settings: Settings, seed: list[int]
) -> FoldResult:
    torch = optional_module("torch", "networks")
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    torch.manual_seed(int(rng.integers(2**31)))
    network = NETWORKS[settings["kernel"]]
    model = network.model(inputs, int(codes.max()) + 1)
    optimizer = getattr(torch.optim, network.optimizer)(
        model.layers.parameters(), lr=settings["learning_rate"]
    )
    best, accuracy, epoch_of_best = (-1.0, 0.0), 0.0, 0
    for epoch in range(1, settings["n_epochs"] + 1):
        _train(torch, model, optimizer, codes, rng.permutation(fold.train), settings)
        found, loss = _accuracy_and_loss(torch, model, codes, fold.validation, settings)
        if (found, -loss) > best:
            best, epoch_of_best = (found, -loss), epoch
            accuracy, _ = _accuracy_and_loss(torch, model, codes, fold.test, settings)
    return FoldResult(accuracy, None, len(fold.test), choice={"epoch": epoch_of_best})


def _train(
    torch: Any, model: Any, optimizer: Any, codes: Ints, order: Ints, settings: Settings
) -> None:
    model.layers.train()
    for graphs in _batches(order, settings):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(
            model.scores(graphs), torch.from_numpy(codes[graphs])
        )
        loss.backward()
        optimizer.step()


def _accuracy_and_loss(
    torch: Any, model: Any, codes: Ints, graphs: Ints, settings: Settings
) -> tuple[float, float]:
    model.layers.eval()
    with torch.no_grad():
        scores = torch.cat([model.scores(part) for part in _batches(graphs, settings)])
    wanted = torch.from_numpy(codes[graphs])
    loss = torch.nn.functional.cross_entropy(scores, wanted)
    return float((scores.argmax(1) == wanted).float().mean()), float(loss)


def _batches(graphs: Ints, settings: Settings) -> list[Ints]:
    size = settings["batch_size"]
    return [graphs[first : first + size] for first in range(0, len(graphs), size)]
