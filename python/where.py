# SPDX-License-Identifier: Apache-2.0
"""where.py PREFIX - print the folder below PREFIX in which Python looks for modules: for
`make install`."""
import site
import sys

prefix = sys.argv[1]
below = [path for path in site.getsitepackages([prefix]) if path.startswith(f"{prefix}/lib/")]
print(next((path for path in below if path in site.getsitepackages()), below[-1]))
