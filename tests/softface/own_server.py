# SPDX-License-Identifier: Apache-2.0
"""Imported before worker: gives a test file a software GPU of its own, and programs
without an injected library."""
import os
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("GP_BUILD", os.path.join(TOP, "build"))
DIR = tempfile.TemporaryDirectory()
os.environ["GPREEMPT_SOFTGPU"] = os.path.join(DIR.name, "soft0.sock")
os.environ.pop("CUDA_INJECTION64_PATH", None)
