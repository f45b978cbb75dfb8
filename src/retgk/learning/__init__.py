"""From inner products of training graphs to a trained machine."""
