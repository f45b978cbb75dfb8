"""``python -m retgk`` is the program ``retgk``."""

from retgk.cli.main import main

if __name__ == "__main__":
    main()
