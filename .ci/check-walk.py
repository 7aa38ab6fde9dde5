"""Whether the README's first command left what it promises in the current folder."""

import json
import subprocess
from pathlib import Path

records = list(Path("perftrail-out").glob("*/stats.json"))
assert len(records) == 1, f"one run leaves one bundle, not {records}"
record = json.loads(records[0].read_text(encoding="utf-8"))
assert record["run"]["status"] == "succeeded", record["run"]
assert record["metrics"]["cpu_time"]["value"] > 1, record["metrics"]["cpu_time"]
assert record["metrics"]["processes_max"]["value"] >= 3, "the worker processes were not seen"
phases = {phase["name"] for phase in record["phases"]}
assert {"initialise", "run", "write_results"} <= phases, phases
series = {series["name"] for series in record["series"]}
assert {"alive", "infected", "event_queue"} <= series, series
for name in ("report.html", "README.md"):
    assert (records[0].parent / name).stat().st_size > 1000, f"{name} holds nothing"

tree = subprocess.run(
    ["git", "-C", "perftrail-results", "ls-tree", "-r", "--name-only", "results"],
    check=True, capture_output=True, text=True,
).stdout.splitlines()
published = [path for path in tree if path.startswith("runs/") and path.endswith("/stats.json")]
assert len(published) == 1, tree
assert {"README.md", "perftrail.json"} <= set(tree), tree
assert any(path.startswith("index/") for path in tree), tree
status = subprocess.run(
    ["git", "status", "--porcelain"], check=True, capture_output=True, text=True
).stdout
assert status == "", f"the clone is not clean any more:\n{status}"
print(f"ok: {published[0]}")
