"""Which of labels and attributes each set is used with, as in the tables of the paper."""

from retgk.datasets import load_tudataset


def load_setting(folder, setting):
    """Data set and graphs of a setting: "SET", "SET/labels", "SET/attributes" or "SET/both"."""
    name, _, kind = setting.partition("/")
    data = load_tudataset(name, data_home=folder, download=False)
    graphs = data.graphs
    if kind not in ("labels", "both"):
        graphs = graphs.without_labels()
    if kind not in ("attributes", "both"):
        graphs = graphs.without_attributes()
    return data, graphs
