"""Everything in the form of scikit-learn's estimators, and the functions made from them."""
