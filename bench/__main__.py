"""python -m bench [--record]: all figures beside their targets and those of the recorded run."""

import argparse
import json
import sys
from pathlib import Path

from bench import micro, whole

RECORDED = Path(__file__).resolve().parent / "recorded.json"

#: What a figure should be: at most, or with a + at least.
TARGETS = {
    "400 players: deliveries a CPU second, k": "+600",
    "2000 players: deliveries a CPU second, k": "+1800",
    "50 players: p50, ms": "3",
    "400 players: p50, ms": "25",
    "2000 players: p99, ms": "80",
    "2000 players: memory, MB": "120",
    "crossings: CPU against none": "1.5",
    "500 in one square: p99, ms": "300",
    "8000 idle players: CPU, %": "3",
    "8000 idle players: memory of each, KB": "25",
}


def main() -> int:
    """Measure, and print; it is no test, and never fails."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--record", action="store_true", help="keep the figures to compare with")
    record = parser.parse_args().record
    print("one move, one flush, one snapshot (bench/micro.py) ...", flush=True)
    found = {f"{name}, us": figure for name, figure in micro.measure().items()}
    print("the whole server (bench/whole.py) ...", flush=True)
    found |= whole.measure(lambda text: print(text, flush=True))
    before = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    print(f"\n{'':46}{'here':>10}{'target':>10}{'recorded':>10}")
    for name, figure in found.items():
        target = TARGETS.get(name, "")
        shown = target.replace("+", "≥ ") if "+" in target else target and f"≤ {target}"
        missed = "  missed" if target and not _met(figure, target) else ""
        old = f"{before[name]:.4g}" if name in before else "-"
        print(f"{name:46}{figure:>10.4g}{shown:>10}{old:>10}{missed}")
    if record:
        RECORDED.write_text(json.dumps({k: round(v, 4) for k, v in found.items()}, indent=1) + "\n")
    return 0


def _met(figure: float, target: str) -> bool:
    return figure >= float(target[1:]) if target[0] == "+" else figure <= float(target)


if __name__ == "__main__":
    sys.exit(main())
