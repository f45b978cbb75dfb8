"""The command line: each command reads graphs, calls the library, and writes the result."""
