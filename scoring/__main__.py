"""`python -m scoring`: the cost model from the command line, without Django or a database."""

import sys

from scoring.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
