"""`python -m tests.fuzz --engine sail --cases 2000 --seed 1`"""

import sys

from tests.fuzz.campaign import main

if __name__ == "__main__":
    sys.exit(main())
