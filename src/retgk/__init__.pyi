"""Public names of retgk: the one list of them."""

from retgk import datasets as datasets
from retgk import io as io
from retgk import kernels as kernels
from retgk import model_selection as model_selection
from retgk import plot as plot
from retgk import pyg as pyg
from retgk import search as search
from retgk import stats as stats
from retgk.errors import InvalidInputError as InvalidInputError
from retgk.estimators.classifier import GraphClassifier as GraphClassifier
from retgk.estimators.kernel import RetGK as RetGK
from retgk.estimators.model_files import load_model as load_model
from retgk.estimators.model_files import save_model as save_model
from retgk.estimators.regressor import GraphRegressor as GraphRegressor
from retgk.estimators.similarity import distance as distance
from retgk.estimators.similarity import most_similar as most_similar
from retgk.estimators.similarity import similarity as similarity
from retgk.explorer.page import explore as explore
from retgk.graphs.batch import GraphBatch as GraphBatch
from retgk.io.convert import as_batch as as_batch
from retgk.io.dataset import GraphDataset as GraphDataset
from retgk.io.read import read_graphs as read_graphs
from retgk.io.read import write_graphs as write_graphs
from retgk.model_selection.comparison import compare as compare
from retgk.search.index import GraphIndex as GraphIndex
from retgk.stats.tests import two_sample_test as two_sample_test
from retgk.walks.probabilities import Walks as Walks
from retgk.walks.probabilities import return_probabilities as return_probabilities

__version__: str
