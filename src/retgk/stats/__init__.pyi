"""Public names of retgk.stats: the one list of them."""

from retgk.stats.results import PopulationTest as PopulationTest
from retgk.stats.tests import association_test as association_test
from retgk.stats.tests import k_sample_test as k_sample_test
from retgk.stats.tests import two_sample_test as two_sample_test
