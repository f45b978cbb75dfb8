"""
The tables and figures of the paper, computed again: ``python -m reproduction run`` and ``report``.

- `tables`: what there is to compute, from ``settings`` (a column is ``[methods.NAME]`` there), and
  what records say of it, beside the published numbers.
- `runner`: cells into records. `runner.METHOD_KINDS` says how each kind of method is computed:
  `graphs` (`frankenstein` rebuilds one set), then `timed_matrices`, `peers` or `networks`, then
  `protocols`; `fair` has the protocol with fixed folds.
- `records`: the file between computing and reporting.
- `report`, `report_tables` and `figures`: pages and pictures.
"""
