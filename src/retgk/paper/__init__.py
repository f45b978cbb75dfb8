"""
The tables and figures of the paper, computed again: ``retgk paper run`` and ``retgk paper report``.

- `table_cells`: what there is to compute, from ``settings``; a column is ``[methods.NAME]`` there.
- `tasks`, `runner`: cells into records. `runner.METHOD_KINDS` says how each kind of method is
  computed: `paper_graphs` (`frankenstein` rebuilds one set), then `timed_matrices` or `peers` (with
  `peer_process` and `peer_methods`, or `networks`), then `protocols` and `svm`.
- `fair_folds`, `fair_methods`: the protocol with fixed folds, and what it computes for each kind.
- `records`: the file between computing and reporting.
- `table_results`, `report` with `report_tables`, `report_peers`, `report_fair`, `report_times`,
  `report_text` and `figures`: what records say, beside the published numbers.
"""
