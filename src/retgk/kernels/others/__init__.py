"""Graph kernels of other authors, on the same graphs and with the same manners as RetGK."""
