"""Inner products of mean embeddings of graphs: exact (RetGK_I) and embedded (RetGK_II)."""
