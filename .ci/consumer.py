"""Makes a project that uses the Action by one of the examples, for act.

    consumer.py WORKFLOW FOLDER

The Action stands in the project itself, and artifacts go through a folder that all jobs share: act
reaches neither other repositories nor an artifact server here.
"""

import re
import shutil
import sys
from pathlib import Path

workflow, folder = Path(sys.argv[1]), Path(sys.argv[2])
text = workflow.read_text()
text = text.replace("OWNER/perftrail@v0", "./").replace("your-org/your-results", f"octo-org/act-{workflow.stem}")
text = re.sub(r"actions/(upload|download)-artifact@[0-9a-f]{40}( #.*)?", r"./\1", text)
(folder / ".github/workflows").mkdir(parents=True, exist_ok=True)
(folder / ".github/workflows/profile.yml").write_text(text)
for name in ("action.yml", "Dockerfile"):
    shutil.copy(name, folder / name)
(folder / "perftrail.toml").write_text("""
[[job]]
name = "scale_run"
run = "echo population {population}"
[job.params]
population = { type = "int", default = 50000 }
""")
STUB = """
name: {0}
description: Artifacts through a folder
inputs:
  name: {{ description: the name, default: "" }}
  pattern: {{ description: the pattern, default: "*" }}
  path: {{ description: the path, required: true }}
  merge-multiple: {{ description: whether to merge, default: "true" }}
runs:
  using: composite
  steps:
    - shell: bash
      env: {{ NAME: "${{{{ inputs.name }}}}", PLACE: "${{{{ inputs.path }}}}" }}
      run: {1}
"""
for name, run in {
    "upload": 'mkdir -p "/artifacts/$NAME" && cp -r "$PLACE/." "/artifacts/$NAME/"',
    "download": 'mkdir -p "$PLACE" && cp -r /artifacts/*/. "$PLACE/"',
}.items():
    (folder / name).mkdir(exist_ok=True)
    (folder / name / "action.yml").write_text(STUB.format(name, run))
