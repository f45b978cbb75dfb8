"""What every other package may use: threads, progress, memory, files, optional packages."""
