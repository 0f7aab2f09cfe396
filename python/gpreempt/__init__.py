# SPDX-License-Identifier: Apache-2.0
"""Announce when this process needs the GPU: libgpreempt, the C library, for Python.

A latency-critical server gives a hint when a request arrives, and marks the request:

>>> import gpreempt
>>> def serve(read, launch_and_wait):
...     with gpreempt.request(eta=300e-6) as request:   # work comes in 300 us
...         data = read()
...         request.begin()                             # from here it needs the GPU
...         return launch_and_wait(data)
>>> serve(lambda: 20, lambda data: data + 1)
21

Without a hint, the whole block needs the GPU:

>>> with gpreempt.request():
...     answer = 21 + 21
>>> answer
42

These functions share one handle. The first call opens it for the CUDA context of its thread.
A program with several devices opens a Handle for each. Times are seconds.

Without libgpreempt, a GPU or the class, the functions of this module have no effect. They log
that once, to the logger "gpreempt". Arguments out of range raise OSError or ValueError.
Every function may be called from any thread. No forked child can use gpreempt.
"""
import ctypes as _C
import errno as _errno
import functools as _functools
import inspect as _inspect
import logging as _logging
import os as _os
import threading as _threading
from types import TracebackType as _TracebackType
from typing import Any, Callable, Dict, NamedTuple, Optional, Set, Tuple, Type, TypeVar, Union, cast

__all__ = ["Handle", "Hold", "Request", "Status", "hint", "hold", "latency_critical", "queued",
           "release", "request", "segment", "set_class", "status"]

_SONAME = "libgpreempt.so.0"
_TOO_LONG = 2 ** 63
_CLASSES = {"none": 0, "lc": 1, "be": 2}
# The program goes on without gpreempt's help: the class is not LC, or a child of a fork calls.
_NO_EFFECT = (-_errno.EPERM, -_errno.ECHILD)
_log = _logging.getLogger("gpreempt")
_F = TypeVar("_F", bound=Callable[..., Any])
_Class = Union[str, Tuple[str, int]]


class _Opts(_C.Structure):
    """struct gp_open_opts"""
    _fields_ = [("size", _C.c_size_t), ("device", _C.c_char_p), ("context", _C.c_void_p),
                ("cls", _C.c_uint32), ("level", _C.c_uint32), ("weight", _C.c_uint32),
                ("flags", _C.c_uint32), ("hold_limit_ns", _C.c_uint64)]


_COUNTERS = ("hints", "segments", "holds", "holds_late", "holds_expired", "syncs_cut", "held_ns",
             "switch_ns", "switch_min_ns", "switch_max_ns", "margin_ns")


class _Stats(_C.Structure):
    """struct gp_stats"""
    _fields_ = [("size", _C.c_size_t), *((name, _C.c_uint64) for name in _COUNTERS)]


# Arguments of the calls that return a status.
_CALLS = {
    "gp_open": (_C.c_void_p, _C.c_void_p),
    "gp_set_class": (_C.c_void_p, _C.c_int, _C.c_uint32),
    "gp_hint": (_C.c_void_p, _C.c_uint64),
    "gp_queued": (_C.c_void_p, _C.c_void_p),
    "gp_segment_begin": (_C.c_void_p,),
    "gp_segment_end": (_C.c_void_p,),
    "gp_hold": (_C.c_void_p, _C.c_uint64),
    "gp_release": (_C.c_void_p,),
    "gp_stats_get": (_C.c_void_p, _C.c_void_p),
}


@_functools.lru_cache(maxsize=None)
def _library() -> _C.CDLL:
    """libgpreempt as the loader finds it, else that of the build tree around this file."""
    try:
        lib = _C.CDLL(_SONAME)
    except OSError:
        top = _os.path.dirname(_os.path.dirname(_os.path.dirname(_os.path.abspath(__file__))))
        built = _os.path.join(top, "build", "lib", _SONAME)
        if not _os.path.exists(built):
            raise
        lib = _C.CDLL(built)
    for name, types in _CALLS.items():
        getattr(lib, name).argtypes = types
    lib.gp_close.argtypes = (_C.c_void_p,)
    lib.gp_close.restype = None
    lib.gp_version.restype = _C.c_char_p
    return lib


def _ns(seconds: float) -> int:
    """No ns that a C call accepts where @seconds is negative, too large or no number."""
    ns = seconds * 1e9
    return round(ns) if 0 <= ns < _TOO_LONG else _TOO_LONG


def _class(cls: _Class) -> Tuple[int, int]:
    """("lc", 2) or "lc:2": the numbers of struct gp_open_opts."""
    name, _, value = cls.partition(":") if isinstance(cls, str) else (cls[0], ":", str(cls[1]))
    if name not in _CLASSES or not (value or "0").isdecimal():
        raise ValueError(f"{cls!r}: no class; write lc, lc:LEVEL, be, be:WEIGHT or none")
    return _CLASSES[name], int(value or 0)


def _error(result: int, call: str) -> OSError:
    return OSError(-result, f"{call}: {_os.strerror(-result)}")


def _check(result: int, call: str) -> None:
    if result:
        raise _error(result, call)


class Handle:
    """One CUDA context, as gp_open() has it; a context manager that closes it.

    device: "soft0", a UUID or a PCI address. context: a CUcontext as a number. None: the current
    context of the calling thread. cls: "lc", "lc:LEVEL", "be" or "be:WEIGHT"; None: the class of
    `gpreempt run`, else lc. hold_limit: the longest hold, seconds; 0: 20 ms.

    The constructor and the methods raise OSError with the errno of the C call.
    """

    def __init__(self, device: Optional[str] = None, context: Optional[int] = None,
                 cls: Optional[_Class] = None, hold_limit: float = 0.0) -> None:
        self._pointer: Optional[_C.c_void_p] = None
        number, value = _class(cls) if cls is not None else (0, 0)
        opts = _Opts(size=_C.sizeof(_Opts), device=device.encode() if device else None,
                     context=context, cls=number, level=value if number == 1 else 0,
                     weight=value if number == 2 else 0, hold_limit_ns=_ns(hold_limit))
        lib, pointer = _library(), _C.c_void_p()
        _check(lib.gp_open(_C.byref(opts), _C.byref(pointer)), "gp_open")
        self._pointer = pointer
        # Looking up an attribute of the library costs more than some of the calls.
        self._begin: Any = lib.gp_segment_begin
        self._end: Any = lib.gp_segment_end
        self._hint: Any = lib.gp_hint
        self._hold: Any = lib.gp_hold
        self._release: Any = lib.gp_release
        self._queued: Any = lib.gp_queued

    def close(self) -> None:
        """End the holds. Later calls raise OSError (EINVAL)."""
        pointer, self._pointer = self._pointer, None
        if pointer is not None:
            _library().gp_close(pointer)

    def __enter__(self) -> "Handle":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[_TracebackType]) -> None:
        self.close()

    def hint(self, eta: float) -> None:
        """Work arrives in eta seconds."""
        _check(self._hint(self._pointer, _ns(eta)), "gp_hint")

    def queued(self, stream: Optional[int] = None) -> None:
        """All work of the request is launched, the last on this CUstream; None: the default."""
        _check(self._queued(self._pointer, stream), "gp_queued")

    def segment_begin(self) -> None:
        """From here on, gaps between launches keep the device. Segments nest."""
        _check(self._begin(self._pointer), "gp_segment_begin")

    def segment_end(self) -> None:
        """End one segment."""
        _check(self._end(self._pointer), "gp_segment_end")

    def request(self, eta: Optional[float] = None) -> "Request":
        """As the function request(), for this handle. A class that is not lc raises OSError."""
        return Request(self, eta)

    def hold(self, limit: float = 0.0) -> "Hold":
        """As the function hold(), for this handle."""
        _check(self._hold(self._pointer, _ns(limit)), "gp_hold")
        return Hold(self)

    def release(self) -> None:
        """Undo one hold()."""
        _check(self._release(self._pointer), "gp_release")

    def set_class(self, cls: _Class) -> None:
        """Change the class of this process on the device."""
        _check(_library().gp_set_class(self._pointer, *_class(cls)), "gp_set_class")

    def stats(self) -> Dict[str, int]:
        """The counters of struct gp_stats; times are ns."""
        stats = _Stats(size=_C.sizeof(_Stats))
        _check(_library().gp_stats_get(self._pointer, _C.byref(stats)), "gp_stats_get")
        return {name: getattr(stats, name) for name in _COUNTERS}


class _Shared(Handle):
    """The handle behind the functions of this module. It takes refused calls as no effect."""

    def __init__(self) -> None:
        super().__init__()
        self._begin, self._end = _lenient(self._begin), _lenient(self._end)
        self._hint, self._hold = _lenient(self._hint), _lenient(self._hold)
        self._release, self._queued = _lenient(self._release), _lenient(self._queued)


class _Absent(Handle):
    """Stands for the shared handle where gpreempt cannot work: each call succeeds."""

    def __init__(self) -> None:  # pylint: disable=super-init-not-called
        self._pointer = None
        self._begin = self._end = self._hint = self._hold = self._release = self._queued = _nothing

    def set_class(self, cls: _Class) -> None:
        _class(cls)

    def stats(self) -> Dict[str, int]:
        return dict.fromkeys(_COUNTERS, 0)


def _nothing(*_: Any) -> int:
    return 0


def _lenient(call: Any) -> Any:
    def called(*args: Any) -> int:
        result: int = call(*args)
        if result in _NO_EFFECT:
            _say_once(_error(result, call.__name__))
            return 0
        return result
    return called


class Request:
    """The span of one request; a context manager, see request()."""

    __slots__ = "_handle", "_eta", "_begun"

    def __init__(self, handle: Handle, eta: Optional[float]) -> None:
        self._handle, self._eta, self._begun = handle, eta, False

    def begin(self) -> None:
        """The hinted work is there: from here to the end of the block it needs the device."""
        if not self._begun:
            self._handle.segment_begin()
            self._begun = True

    def __enter__(self) -> "Request":
        if self._eta is None:
            self.begin()
        else:
            self._handle.hint(self._eta)
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[_TracebackType]) -> None:
        if self._begun:
            self._begun = False
            self._handle.segment_end()


class Hold:
    """A hold that began; a context manager that releases it once."""

    __slots__ = ("_handle",)

    def __init__(self, handle: Handle) -> None:
        self._handle: Optional[Handle] = handle

    def __enter__(self) -> "Hold":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[_TracebackType]) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.release()


# ---- the shared handle --------------------------------------------------------------------
_lock = _threading.Lock()
_handle: Optional[Handle] = None
_reason = ""
_said: Set[Optional[int]] = set()


def _say_once(error: OSError) -> None:
    """Once for each errno."""
    if error.errno not in _said:
        _said.add(error.errno)
        _log.warning("gpreempt has no effect: %s; gpreempt doctor has more", error)


def _open() -> Handle:
    """The shared handle, or one without effect. A program that has no context yet tries again."""
    global _handle, _reason
    with _lock:
        if _handle is not None:
            return _handle
        try:
            _handle, _reason = _Shared(), ""
            return _handle
        except OSError as error:
            _reason = str(error)
            _say_once(error)
            absent = _Absent()
            if error.errno != _errno.ENXIO:
                _handle = absent
            return absent


def request(eta: Optional[float] = None) -> Request:
    """A context manager for one request.

    Without eta, the device is kept for the whole block. With eta, a hint says that work arrives
    in eta seconds; call begin() of the result when it is there.
    """
    return Request(_handle or _open(), eta)


def segment() -> Request:
    """A context manager: gaps between launches in the block keep the device."""
    return Request(_handle or _open(), None)


def hint(eta: float) -> None:
    """Announce work that arrives in eta seconds, at most 10.

    >>> gpreempt.hint(300e-6)
    """
    (_handle or _open()).hint(eta)


def hold(limit: float = 0.0) -> Hold:
    """Keep the device until release(), or for limit seconds; 0: 20 ms. Holds nest.

    >>> with gpreempt.hold(5e-3):
    ...     pass
    """
    return (_handle or _open()).hold(limit)


def release() -> None:
    """Undo one hold()."""
    (_handle or _open()).release()


def queued(stream: Optional[int] = None) -> None:
    """Report that all work of a request is launched. stream: the CUstream of the last launch,
    such as torch.cuda.current_stream().cuda_stream; None: the default stream."""
    (_handle or _open()).queued(stream)


def set_class(cls: _Class) -> None:
    """Change the class of this process: "lc", "lc:LEVEL", "be", "be:WEIGHT" or "none"."""
    (_handle or _open()).set_class(cls)


def latency_critical(function: _F) -> _F:
    """A decorator: each call of the function is a request. Coroutine functions work, too.

    >>> @gpreempt.latency_critical
    ... def infer(x):
    ...     return x * 2
    >>> infer(21)
    42
    """
    if _inspect.iscoroutinefunction(function):
        @_functools.wraps(function)
        async def waits(*args: Any, **kwargs: Any) -> Any:
            with request():
                return await function(*args, **kwargs)
        return cast(_F, waits)

    @_functools.wraps(function)
    def calls(*args: Any, **kwargs: Any) -> Any:
        with request():
            return function(*args, **kwargs)
    return cast(_F, calls)


class Status(NamedTuple):
    """What gpreempt can do for this process."""
    active: bool            # calls reach libgpreempt and a device
    reason: str             # why not, else ""
    version: str            # of libgpreempt, or ""
    stats: Dict[str, int]   # counters of the shared handle; times are ns


def status() -> Status:
    """Open the shared handle if need be, and report its state.

    >>> sorted(gpreempt.status().stats)[:3]
    ['held_ns', 'hints', 'holds']
    """
    handle = _handle or _open()
    active = not isinstance(handle, _Absent)
    try:
        version = _library().gp_version().decode()
    except OSError:
        version = ""
    return Status(active, "" if active else _reason, version, handle.stats())
