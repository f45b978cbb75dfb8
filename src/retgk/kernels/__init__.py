"""Node kernels and the inner products of mean embeddings that they give."""
