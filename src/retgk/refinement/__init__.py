"""Labels refined by the neighbourhoods of nodes (Weisfeiler and Leman)."""
