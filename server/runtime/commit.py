"""Which commit is served, for operators. It starts no program, and never fails."""

import re
from pathlib import Path

#: The folder of the clone that this file is in, if it is in one.
CLONE = Path(__file__).resolve().parent.parent.parent

#: Digits of a commit that are shown.
DIGITS = 12


def served(*named: str) -> str:
    """Return the commit or tag that is served, as it is shown: the first of `named` that is not
    empty, or else that of this clone. A hash is cut."""
    commit = next(filter(None, named), "") or of_clone()
    return commit[:DIGITS] if re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", commit) else commit


def of_clone(root: Path = CLONE) -> str:
    """Return the hash of the commit that is checked out in a clone; "" if `root` is not a clone."""
    git = root / ".git"
    try:
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        branch = head.removeprefix("ref: ")
        if (git / branch).is_file():
            return (git / branch).read_text().strip()
        packed = (git / "packed-refs").read_text().splitlines()
    except OSError:
        return ""
    return next((line.split()[0] for line in packed if line.endswith(f" {branch}")), "")
