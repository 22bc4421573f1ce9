"""The second verifier: `mcp-interposer audit verify`, with the same result as verifier.verify()."""
import json
import os
import subprocess
from pathlib import Path

import verifier

PROGRAM = os.environ.get("MCP_INTERPOSER") or str(Path(__file__).resolve().parents[2] / "build/mcp-interposer")


class Report(verifier.Report):
    verdict = None


def verify(vault, against=None, key=None):
    """A Report. Fails if the program fails, or if its exit status and its verdict disagree."""
    vault = Path(vault)
    home = vault.parent / "home"
    args = [PROGRAM, "audit", "verify", "--json", "--vault", str(vault), "--config", "/dev/null",
            "--journal-dir", str(home)]     # without journals: nothing is stored first
    home.mkdir(exist_ok=True)
    note = vault.parent / "against.note"
    if against:
        note.write_text(against)
        args += ["--against", str(note)]
    if key:
        args += ["--key", key]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MCP_INTERPOSER", "XDG_"))} | {"HOME": str(home)}
    done = subprocess.run(args, capture_output=True, env=env, timeout=120)
    note.unlink(missing_ok=True)
    if done.returncode not in (0, 1) or done.stderr:
        raise RuntimeError(f"the program: status {done.returncode}: {done.stderr.decode(errors='replace')}")
    report = Report()
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    for row in rows[:-1]:
        if row["type"] == "log":
            report.log.append(verifier.Wrong(row["kind"], row["text"], row["record"]))
        else:
            report.sessions.append({"id": row["session_id"], "uid": row["uid"], "status": row["status"],
                                    **{k: row.get(k) for k in ("kind", "record", "text")}})
    report.verdict = rows[-1]["verdict"]
    if (report.verdict == "valid") != (done.returncode == 0):
        raise RuntimeError(f"the program: {report.verdict} and status {done.returncode}")
    return report
