# SPDX-License-Identifier: Apache-2.0
"""PyTorch: each call of a model is a request, without a change of the code that calls it.

>>> def serve(model, inputs):
...     with gpreempt.torch.requests(model):
...         return [model(x) for x in inputs]
>>> serve(model, [20, 41])
[21, 42]

With an optimizer, a request lasts from the model's call to the optimizer's step:

>>> with gpreempt.torch.requests(model, optimizer):
...     loss = model(1)
...     optimizer.step()

The hooks are those of torch.nn.Module and torch.optim.Optimizer. This module imports no PyTorch, and
has no effect where the functions of gpreempt have none.
"""
import sys as _sys
import threading as _threading
from types import TracebackType as _TracebackType
from typing import Any, List, Optional, Type

import gpreempt as _gpreempt

__all__ = ["Requests", "requests"]


class Requests:
    """What requests() returns: a context manager that puts the hooks in and takes them out."""

    def __init__(self, module: Any, optimizer: Any = None) -> None:
        for name, hooked, call in (("module", module, "register_forward_pre_hook"),
                                   ("optimizer", optimizer, "register_step_post_hook")):
            if hooked is not None and not hasattr(hooked, call):
                raise TypeError(f"{name}: {type(hooked).__name__} has no {call}(); pass a "
                                f"torch.nn.Module, and an Optimizer of PyTorch 2.0 or later")
        self._module, self._optimizer = module, optimizer
        self._own = _threading.local()  # .request: open in this thread
        self._hooks: List[Any] = []

    def __enter__(self) -> "Requests":
        if self._hooks:
            raise RuntimeError("these requests have begun; make others for a block within")
        self._hooks = [self._module.register_forward_pre_hook(self._called)]
        try:
            # An exception ends the request, too.
            after = self._module.register_forward_hook(self._returned, always_call=True)
        except TypeError:  # before PyTorch 2.1
            after = self._module.register_forward_hook(self._returned)
        self._hooks.append(after)
        if self._optimizer is not None:
            self._hooks.append(self._optimizer.register_step_post_hook(self._stepped))
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[_TracebackType]) -> None:
        hooks, self._hooks = self._hooks, []
        for hook in hooks:
            hook.remove()
        self._end()

    def _called(self, *_: Any) -> None:
        self._end()
        if not _captures():
            request = _gpreempt.request()
            request.begin()
            self._own.request = request

    def _returned(self, *_: Any) -> None:
        if self._optimizer is None:
            self._end()

    def _stepped(self, *_: Any) -> None:
        self._end()

    def _end(self) -> None:
        """Of this thread's request, if one is open."""
        request: Optional[_gpreempt.Request] = getattr(self._own, "request", None)
        self._own.request = None
        if request is not None:
            request.__exit__(None, None, None)


def _captures() -> bool:
    """A graph is being recorded: no work runs, and other calls might end the recording."""
    torch = _sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    return cuda is not None and cuda.is_available() and bool(cuda.is_current_stream_capturing())


def requests(module: Any, optimizer: Any = None) -> Requests:
    """A context manager: within the block each call of @module, a torch.nn.Module, is a request.

    With @optimizer, of torch.optim, the request ends with its step instead. Threads have requests
    of their own. A call that a CUDA graph records is none.
    """
    return Requests(module, optimizer)
