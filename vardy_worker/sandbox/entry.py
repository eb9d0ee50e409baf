"""The script that a sandbox process runs: `entry.py child …` or `entry.py build …`.

Started by its path with `python -I -S`, so that neither `site` nor Vardy's own package
initialisation runs: a child loads only this folder, the standard library and wasmtime.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType


def _only_sandbox(site_packages: list[str]) -> None:
    package = ModuleType("vardy_worker")
    package.__path__ = [str(Path(__file__).resolve().parent.parent)]
    sys.modules["vardy_worker"] = package
    sys.path.extend(site_packages)


def _main(arguments: list[str]) -> None:
    role, site_packages, *rest = arguments
    _only_sandbox(site_packages.split("\n"))
    if role == "child":
        from vardy_worker.sandbox import child  # noqa: PLC0415 - only now can it be found

        socket_fd, image_fd, parent, data_bytes_max = map(int, rest[:4])
        child.main(socket_fd, image_fd, parent, data_bytes_max, rest[4])
    else:
        from vardy_worker.sandbox import image  # noqa: PLC0415 - the same

        image.build_into(int(rest[0]))


if __name__ == "__main__":
    _main(sys.argv[1:])
