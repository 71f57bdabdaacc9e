"""`python -m fabricscout` is the command `fabricscout`."""

import sys

from fabricscout.cli import main

if __name__ == "__main__":
    sys.exit(main())
