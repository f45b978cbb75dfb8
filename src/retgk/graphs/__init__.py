"""GraphBatch, the only graph class: its checks, its slices, its labels."""
