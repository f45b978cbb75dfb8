"""Work on the machines of a dask cluster: files of graphs to vectors, and ways to connect."""
