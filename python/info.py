# SPDX-License-Identifier: Apache-2.0
"""info.py FOLDER VERSION - write the module's metadata to FOLDER/gpreempt-VERSION.dist-info, from
pyproject.toml: for `make install`. Other programs find its entry points there."""
import os
import sys
import tomllib

folder, version = sys.argv[1:]
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "pyproject.toml"), "rb") as f:
    project = tomllib.load(f)["project"]
target = os.path.join(folder, f"{project['name']}-{version}.dist-info")
os.makedirs(target, exist_ok=True)
with open(os.path.join(target, "METADATA"), "w", encoding="utf-8") as f:
    f.write(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n"
            f"Summary: {project['description']}\n")
with open(os.path.join(target, "entry_points.txt"), "w", encoding="utf-8") as f:
    for group, points in project["entry-points"].items():
        f.write(f"[{group}]\n" + "".join(f"{name} = {to}\n" for name, to in points.items()))
