"""Public names of retgk.search: the one list of them."""

from retgk.estimators.similarity import distance as distance
from retgk.estimators.similarity import distances as distances
from retgk.estimators.similarity import most_similar as most_similar
from retgk.estimators.similarity import similarity as similarity
from retgk.search.duplicates import duplicate_groups as duplicate_groups
from retgk.search.index import GraphIndex as GraphIndex
