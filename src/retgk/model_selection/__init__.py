"""Methods side by side on one collection, folds for graphs, and reasons of a model."""

from retgk._namespaces import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
