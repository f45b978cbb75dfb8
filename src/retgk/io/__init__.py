"""
Graphs in and out: objects of other packages, files, data frames.

`as_batch` takes graphs of any kind and `read_graphs` files of any format; `from_...` and
`to_...` convert from and to one package, with its options.
"""

from retgk._namespaces import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
