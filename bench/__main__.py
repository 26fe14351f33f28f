"""Entry of `python -m bench`: makes sure that the installed exactla is the one that is measured, then hands over.

`python -m` puts the clone first on the path, where a plain `import exactla` would find the sources beside this folder
and not what pip installed. An entry of PYTHONPATH is the user's own choice and stays.
"""

import sys
from pathlib import Path

_CLONE = Path(__file__).resolve().parent.parent


def _main() -> int:
    if sys.path and Path(sys.path[0]).resolve() == _CLONE:
        del sys.path[0]
    try:
        import threadpoolctl  # noqa: F401

        import exactla  # noqa: F401
        import exactla_backends  # noqa: F401
    except ImportError as error:
        print(
            f"bench: {error}\nThe benchmarks measure an installed exactla. From the root of the clone:\n"
            "    python -m pip install -e '.[bench]'",
            file=sys.stderr,
        )
        return 2
    from bench.cli import main

    return main()


sys.exit(_main())
