"""
The two neural networks of the paper's tables, as small models in PyTorch (the extra "networks").

- `inputs`: what a network sees of graphs.
- `patchy_san`, `deep_graph_cnn`: the models, PSCN and DGCNN.
- `training`: from a fold to an accuracy.

Everything that needs no PyTorch works without it; it is imported when a model is made.
"""
