"""`python -m vardy_api.cli` is `vardy`."""

from __future__ import annotations

import sys

from vardy_api.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
