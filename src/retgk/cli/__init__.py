"""The command line: each command reads graphs, asks the library, and writes the answer."""
