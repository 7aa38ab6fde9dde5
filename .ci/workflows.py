"""Lays every workflow of the repository, its examples and its pages into one folder, for linters.

    workflows.py FOLDER

YAML blocks of the pages that are whole workflows (they have `jobs`) count too.
"""

import re
import subprocess
import sys
from pathlib import Path

out = Path(sys.argv[1]) / ".github/workflows"
out.mkdir(parents=True)
files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], check=True, text=True,
                       stdout=subprocess.PIPE).stdout.splitlines()
count = 0
for name in files:
    path, flat = Path(name), name.strip(".").replace("/", "-")
    if re.match(r"(\.github|examples)/workflows/.*\.yml$", name):
        (out / flat).write_text(path.read_text())
        count += 1
    elif path.suffix == ".md":
        blocks = re.findall(r"^```ya?ml\n(.*?)^```$", path.read_text(), re.M | re.S)
        for number, block in enumerate(blocks, 1):
            if not re.search(r"^jobs:", block, re.M):
                sys.exit(f"{name}: its YAML block {number} is no whole workflow, so nobody can check it")
            (out / f"{flat.removesuffix('.md')}-{number}.yml").write_text(block)
            count += 1
print(f"{count} workflows")
