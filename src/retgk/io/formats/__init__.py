"""File formats: one reader or writer each."""
