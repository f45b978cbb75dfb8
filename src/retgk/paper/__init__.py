"""The experiments of the paper: settings, runs, stored records, and reports made from these."""
