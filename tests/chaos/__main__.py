"""`python -m tests.chaos --engine sail --runs 450`"""

import sys

from tests.chaos.campaign import main

if __name__ == "__main__":
    sys.exit(main())
