"""Methods side by side on one collection: the same folds, processes with limits, one table."""
