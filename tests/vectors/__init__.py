"""Golden vectors: JSON files that Python and the browser both read, made by make.py."""

import json
from pathlib import Path
from typing import Any


def load(name: str) -> Any:
    """Return what NAME.json holds."""
    return json.loads((Path(__file__).parent / f"{name}.json").read_text())
