"""Run the comparison: python -m loadtest.peers --help"""

import sys

from loadtest.peers.command import main

sys.exit(main())
