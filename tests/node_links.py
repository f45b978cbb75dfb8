"""Node-link data of networkx, whose versions have called the key of the edges in two ways."""

import networkx as nx


def node_link(graph, key="links"):
    try:
        return nx.node_link_data(graph, edges=key)
    except TypeError:  # before networkx 3.4
        return nx.node_link_data(graph, link=key)
