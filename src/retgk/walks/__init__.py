"""Return probabilities of random walks, exact and by Monte Carlo."""
