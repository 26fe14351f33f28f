"""``python -m exactla``: the same as the `exactla` command."""

from exactla.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
