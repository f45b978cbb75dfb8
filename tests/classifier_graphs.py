"""What tests of RetGKClassifier have in common."""

from retgk import RetGKClassifier, make_graph_classification


def three_classes():
    return make_graph_classification(
        n_graphs=90, n_classes=3, n_labels=3, n_nodes=(5, 15), random_state=0
    )


def quick(**options):
    return RetGKClassifier(**({"n_steps": 10, "cv": 3, "depth": 0, "random_state": 0} | options))
