"""
Tests of populations of graphs.

- `two_sample_test` and `k_sample_test`: do two or more groups differ?
- `association_test`: do graphs go with a number or a category?
- `PopulationTest` is what they give.
"""

from retgk._namespaces import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
