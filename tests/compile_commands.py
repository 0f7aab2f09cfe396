#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make compile_commands.json: from the commands that make would run, on standard input."""
import json
import os
import re
import shlex
import sys

COMPILE = re.compile(r" -c (\S+\.c) -o (\S+)$")


def main():
    entries = []
    for line in sys.stdin.read().replace("\\\n", " ").split("\n"):
        found = COMPILE.search(line.rstrip())
        if found:
            words = shlex.split(line)
            entries.append({"directory": os.getcwd(), "file": found[1], "output": found[2],
                            "arguments": words[words[0].endswith("ccache"):]})
    json.dump(entries, sys.stdout, indent=1)
    print()
    return 0 if entries else 1


if __name__ == "__main__":
    sys.exit(main())
