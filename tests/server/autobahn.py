"""Run the Autobahn test suite against our listener and connections; print what it found.

    python -m tests.server.autobahn

Exits with 0 only if every case and every way of closing is OK or informational. Cases 12 and 13
are left out: they test compression, which is not supported. The suite needs Python 2.7, found as
$PYTHON27, on the PATH or in pyenv; its packages go into .autobahn/, which git ignores.
"""

import json
import os
import shutil
import sys
from collections import Counter
from pathlib import Path

from gevent import subprocess

from flatlands.server.net import connection as module
from flatlands.server.net import frames
from flatlands.server.net.connection import Connection
from flatlands.server.net.listener import WebSocketServer
from flatlands.server.runtime.limits import Rate

HERE = Path(__file__).resolve().parent
WORK = HERE.parents[1] / ".autobahn"
REQUIREMENTS = HERE / "autobahn-requirements.txt"
VIRTUALENV = "virtualenv==20.15.1"  # the last version that makes environments for Python 2.7
MAX_MESSAGE = 32 * 1024 * 1024  # bytes; the largest message of the suite has 16 MiB
GOOD = {"OK", "INFORMATIONAL"}


def find_python() -> str:
    """Return the path of a Python 2.7; end the program with a sentence if there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [
        os.environ.get("PYTHON27"),
        shutil.which("python2.7"),
        *map(str, sorted(pyenv.glob("versions/2.7*/bin/python"))),
    ]
    for python in filter(None, candidates):
        try:
            answer = subprocess.run([python, "--version"], capture_output=True, text=True)
        except OSError:
            continue
        # The shims of pyenv are on the PATH even if they lead nowhere; 2.7 answers on stderr.
        if answer.returncode == 0 and "Python 2.7" in answer.stdout + answer.stderr:
            return python
    sys.exit(
        "Autobahn needs Python 2.7: set PYTHON27 to its path (pyenv install 2.7.18 builds one)."
    )


def install(python: str) -> Path:
    """Make .autobahn/env unless it is there and complete; return its wstest."""
    wstest = WORK / "env" / "bin" / "wstest"
    done = WORK / "installed.txt"  # the requirements, once all of them are in
    wanted = REQUIREMENTS.read_text()
    if done.exists() and done.read_text() == wanted:
        return wstest
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir()
    quiet = {**os.environ, "PYTHONWARNINGS": "ignore", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    tool = str(WORK / "virtualenv")
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--target", tool, VIRTUALENV], env=quiet, check=True
    )
    subprocess.run(
        [python, "-m", "virtualenv", "-q", WORK / "env"],
        env={**quiet, "PYTHONPATH": tool},
        check=True,
    )
    pip = WORK / "env" / "bin" / "pip"
    subprocess.run([pip, "install", "-q", "-r", REQUIREMENTS], env=quiet, check=True)
    done.write_text(wanted)
    return wstest


def accept(connection: Connection, _environ: dict) -> None:
    """Send each message back; queue without a limit what the connection refuses."""
    waiting: list[bytes] = []

    def on_message(opcode: int, payload: bytes) -> None:
        waiting.append(frames.frame(payload, opcode))
        on_drain()

    def on_drain() -> None:
        while waiting and connection.send(waiting[0]):
            del waiting[0]

    connection.on_message, connection.on_drain = on_message, on_drain


def run(wstest: Path) -> dict[str, dict]:
    """Run all cases; return case number -> the suite's report."""
    module.LIGHT = Rate("frames", 1_000_000, 1_000_000)  # the suite sends many small frames
    server = WebSocketServer(("127.0.0.1", 0), lambda *_: [], accept, protocol=None)
    server.max_message = MAX_MESSAGE
    server.start()
    reports = WORK / "reports"
    shutil.rmtree(reports, ignore_errors=True)
    url = f"ws://127.0.0.1:{server.server_port}/ws"
    specification = {
        "outdir": str(reports),
        "servers": [{"agent": "Flatlands", "url": url}],
        "cases": ["*"],
        "exclude-cases": ["12.*", "13.*"],
        "exclude-agent-cases": {},
    }
    (WORK / "fuzzingclient.json").write_text(json.dumps(specification))
    with open(WORK / "wstest.log", "w") as output:
        subprocess.run(
            [wstest, "-m", "fuzzingclient", "-s", WORK / "fuzzingclient.json"],
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=WORK,
            check=True,
        )
    server.close()
    return json.loads((reports / "index.json").read_text())["Flatlands"]


def main() -> int:
    cases = run(install(find_python()))
    print(f"{len(cases)} cases")
    for title, field in (("behaviour", "behavior"), ("closing", "behaviorClose")):
        counts = Counter(case[field] for case in cases.values())
        for verdict, count in counts.most_common():
            print(f"  {title:10} {verdict:15} {count:4}")
    bad = [
        (number, case)
        for number, case in cases.items()
        if not {case["behavior"], case["behaviorClose"]} <= GOOD
    ]
    for number, case in bad:
        print(f"  case {number}: {case['behavior']}, closing {case['behaviorClose']}")
    return 1 if bad or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
