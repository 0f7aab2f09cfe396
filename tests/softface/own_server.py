# SPDX-License-Identifier: Apache-2.0
"""Imported before worker: the software GPU that a test file starts is its own, and
nothing is injected into its programs."""
import os
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("GP_BUILD", os.path.join(TOP, "build"))
DIR = tempfile.TemporaryDirectory()
os.environ["GPREEMPT_SOFTGPU"] = os.path.join(DIR.name, "soft0.sock")
os.environ.pop("CUDA_INJECTION64_PATH", None)
