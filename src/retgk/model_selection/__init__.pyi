"""Public names of retgk.model_selection: the one list of them."""

from retgk.estimators.explanation import Explanation as Explanation
from retgk.learning.folds import scaffold_folds as scaffold_folds
from retgk.learning.folds import scaffold_split as scaffold_split
from retgk.model_selection.comparison import compare as compare
from retgk.model_selection.table import Comparison as Comparison
