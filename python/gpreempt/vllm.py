# SPDX-License-Identifier: Apache-2.0
"""vLLM: each step of its engine is a request. A general plugin, which vLLM finds by itself where
this package is installed:

    gpreempt run --class=lc -- vllm serve MODEL

It acts under `gpreempt run --class=lc` only. VLLM_PLUGINS, a list of names, leaves it out.
"""
import functools as _functools
import importlib as _importlib
import logging as _logging
import os as _os
from typing import Any, Callable, Optional

import gpreempt as _gpreempt

__all__ = ["register"]

_WORKER = "vllm.v1.worker.gpu_worker"
_log = _logging.getLogger("gpreempt")


def register() -> None:
    """The entry point "vllm.general_plugins". vLLM calls it in each of its processes, and perhaps
    several times in one.

    >>> gpreempt.vllm.register()
    """
    if not _os.environ.get("GPREEMPT_CLASS", "").startswith("lc"):
        return
    try:
        worker: Any = _importlib.import_module(_WORKER).Worker
        execute, sample = worker.execute_model, getattr(worker, "sample_tokens", None)
    except (ImportError, AttributeError) as error:
        _log.warning("gpreempt has no effect on vLLM: %s; install vLLM 0.8 or later, or leave the "
                     "plugin out (VLLM_PLUGINS)", error)
        return
    if getattr(execute, "_gpreempt", False):
        return
    worker.execute_model = _step(execute, begins=True, ends=lambda out: not sample or out is not None)
    if sample:
        worker.sample_tokens = _step(sample, begins=False, ends=lambda out: True)


def _step(method: Callable[..., Any], begins: bool, ends: Callable[[Any], bool]) -> Any:
    """@method, as a part of a request. Where a worker has sample_tokens(), its execute_model()
    returns None if that call completes the step."""
    @_functools.wraps(method)
    def called(worker: Any, *args: Any, **kwargs: Any) -> Any:
        if begins:
            _end(worker)
            worker._gpreempt_request = _gpreempt.request()
            worker._gpreempt_request.begin()
        try:
            out = method(worker, *args, **kwargs)
        except BaseException:
            _end(worker)
            raise
        if ends(out):
            _end(worker)
        return out
    called._gpreempt = True  # type: ignore[attr-defined]
    return called


def _end(worker: Any) -> None:
    request: Optional[_gpreempt.Request] = getattr(worker, "_gpreempt_request", None)
    worker._gpreempt_request = None
    if request is not None:
        request.__exit__(None, None, None)
