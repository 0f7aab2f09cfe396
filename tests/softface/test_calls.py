#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The software GPU's libcupti.so.13 reports calls of the driver API to a callback.
The layout of the callback's data is repeated here from CUPTI's headers."""
import contextlib
import ctypes as C
import os
import struct
import sys
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import own_server  # noqa: E402, F401
import worker  # noqa: E402

LIBRARY = os.path.join(os.path.dirname(worker.FACE), "libcupti.so.13")
RUNTIME_API, DRIVER_API = 2, 1
ENTER, EXIT = 0, 1
INVALID_PARAMETER, MULTIPLE_SUBSCRIBERS = 1, 39
NOT_READY = 600
FOUR = ["cuptiEnableCallback", "cuptiGetCallbackName", "cuptiSubscribe",
        "cuptiUnsubscribe"]


class Data(C.Structure):
    _fields_ = [("site", C.c_uint32), ("function_name", C.c_char_p),
                ("params", C.c_void_p), ("return_value", C.POINTER(C.c_int)),
                ("symbol_name", C.c_char_p), ("context", C.c_void_p),
                ("context_uid", C.c_uint32), ("correlation", C.POINTER(C.c_uint64)),
                ("correlation_id", C.c_uint32)]


CALLBACK = C.CFUNCTYPE(None, C.c_void_p, C.c_uint32, C.c_uint32, C.POINTER(Data))


def ids(lib):
    """Name -> id. Ids are 1, 2, and so on without gaps."""
    found, name, cbid = {}, C.c_char_p(), 1
    while not lib.cuptiGetCallbackName(DRIVER_API, cbid, C.byref(name)):
        found[name.value.decode()] = cbid
        cbid += 1
    return found


class Seen:
    """One entry or exit, copied because its data ends with the callback."""

    def __init__(self, domain, cbid, data, params):
        self.domain, self.cbid, self.site = domain, cbid, data.site
        self.name = data.function_name.decode()
        self.context, self.uid = data.context, data.context_uid
        self.correlation, self.number = data.correlation[0], data.correlation_id
        self.params = struct.unpack(params, C.string_at(data.params,
                                                        struct.calcsize(params)))
        self.result = data.return_value[0] if data.site == EXIT else None


class Subscriber:
    """Records the named calls; @shapes gives the layout of their arguments."""

    def __init__(self, lib, shapes=(), inside=None):
        self.lib, self.shapes, self.inside = lib, dict(shapes), inside
        self.seen, self.handle = [], C.c_void_p()
        self.callback = CALLBACK(self.called)
        self.error = lib.cuptiSubscribe(C.byref(self.handle), self.callback, 77)
        for name in self.shapes:
            assert not self.enable(name)

    def enable(self, name, on=1):
        return self.lib.cuptiEnableCallback(on, self.handle, DRIVER_API,
                                            ids(self.lib)[name])

    def called(self, user, domain, cbid, data):
        data = data.contents
        seen = Seen(domain, cbid, data, self.shapes[data.function_name.decode()])
        seen.user = user
        self.seen.append(seen)
        if data.site == ENTER:
            data.correlation[0] = 1000 + data.correlation_id
        if self.inside:
            self.inside(seen)

    def end(self):
        return self.lib.cuptiUnsubscribe(self.handle)

    def sites(self):
        return [(seen.name, seen.site) for seen in self.seen]


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gpu = worker.Gpu()
        cls.lib = C.CDLL(LIBRARY)
        for name in FOUR:
            getattr(cls.lib, name).argtypes = None
        cls.lib.cuptiSubscribe.argtypes = [C.c_void_p, CALLBACK, C.c_void_p]

    @contextlib.contextmanager
    def subscribed(self, shapes=(), inside=None):
        subscriber = Subscriber(self.lib, shapes, inside)
        self.assertEqual(subscriber.error, 0)
        try:
            yield subscriber
        finally:
            subscriber.end()

    def pair(self, seen, name, params):
        """Check that @seen is an entry and an exit of @name. Returns the exit."""
        self.assertEqual([(s.name, s.site) for s in seen], [(name, ENTER), (name, EXIT)])
        for one in seen:
            self.assertEqual((one.domain, one.cbid, one.user),
                             (DRIVER_API, ids(self.lib)[name], 77))
            self.assertEqual(one.params, tuple(params), name)
        self.assertEqual(seen[0].correlation, 0)
        self.assertEqual(seen[1].correlation, 1000 + seen[0].number)
        self.assertEqual(seen[0].number, seen[1].number)
        return seen[1]

    def check(self, name, shape, params, *args, result=0):
        """Make one call and return all that the callback saw."""
        with self.subscribed({name: shape}) as who:
            self.assertEqual(getattr(self.gpu.lib, name)(*args), result, name)
        last = self.pair(who.seen, name, params)
        self.assertEqual(last.result, result)
        return who.seen

    # ---- names ---------------------------------------------------------------

    def test_every_name_is_a_function_of_libcuda(self):
        names = ids(self.lib)
        self.assertGreater(len(names), 80)
        self.assertEqual(sorted(names.values()), list(range(1, len(names) + 1)))
        for name in names:
            fn = C.c_void_p()
            self.gpu.call("cuGetProcAddress_v2", name.encode(), C.byref(fn), 13000,
                          C.c_uint64(0), None)
            self.assertTrue(fn.value, name)
        name = C.c_char_p(b"kept")
        for domain, cbid in ((DRIVER_API, 0), (DRIVER_API, len(names) + 1),
                             (DRIVER_API, 2 ** 32 - 1), (RUNTIME_API, 1), (0, 1)):
            self.assertEqual(self.lib.cuptiGetCallbackName(domain, cbid, C.byref(name)),
                             INVALID_PARAMETER)
        self.assertEqual(name.value, b"kept")
        self.assertEqual(self.lib.cuptiGetCallbackName(DRIVER_API, 1, None),
                         INVALID_PARAMETER)

    # ---- subscribing -----------------------------------------------------------

    def test_one_subscriber(self):
        with self.subscribed():
            self.assertEqual(Subscriber(self.lib).error, MULTIPLE_SUBSCRIBERS)
        self.assertEqual(self.lib.cuptiSubscribe(None, CALLBACK(), None),
                         INVALID_PARAMETER)
        with self.subscribed() as who:
            other = C.c_void_p(C.addressof(who.handle))
            one = ids(self.lib)["cuStreamQuery"]
            for args in ((1, other, DRIVER_API, one), (1, who.handle, RUNTIME_API, one),
                         (1, who.handle, DRIVER_API, 0),
                         (1, who.handle, DRIVER_API, 100000)):
                self.assertEqual(self.lib.cuptiEnableCallback(*args), INVALID_PARAMETER)
            self.assertEqual(self.lib.cuptiUnsubscribe(other), INVALID_PARAMETER)
        # A former subscriber sees nothing.
        self.assertEqual(who.enable("cuStreamQuery"), INVALID_PARAMETER)

    def test_only_what_is_enabled_is_seen(self):
        gpu = self.gpu
        with self.subscribed({"cuStreamSynchronize": "Q"}) as who:
            gpu.alloc(64)
            self.assertEqual(who.seen, [])
            gpu.sync()
            self.assertEqual(len(who.seen), 2)
            self.assertEqual(who.enable("cuStreamSynchronize", 0), 0)
            gpu.sync()
            self.assertEqual(len(who.seen), 2)
            self.assertEqual(who.enable("cuStreamSynchronize"), 0)
            gpu.sync()
            self.assertEqual(len(who.seen), 4)
        gpu.sync()
        # A new subscriber does not inherit the enabled calls.
        with self.subscribed() as later:
            gpu.sync()
        self.assertEqual((len(who.seen), later.seen), (4, []))

    def test_gone_inside_a_call(self):
        """A subscriber that leaves inside a call sees no exit, nor does a new one."""
        def leave(_):
            first.end()
            later.append(Subscriber(self.lib, {"cuStreamSynchronize": "Q"}))

        later = []
        with self.subscribed({"cuStreamSynchronize": "Q"}, leave) as first:
            self.gpu.sync()
            self.assertEqual(first.sites(), [("cuStreamSynchronize", ENTER)])
            self.assertEqual((later[0].error, later[0].seen), (0, []))
            later[0].end()

    def test_a_callback_calls_the_driver(self):
        """The callback's own calls are seen, too, within the outer call."""
        def ask(seen):
            if seen.name == "cuStreamSynchronize":
                self.assertEqual(self.gpu.lib.cuStreamQuery(None), 0)

        inner = [("cuStreamQuery", ENTER), ("cuStreamQuery", EXIT)]
        with self.subscribed({"cuStreamSynchronize": "Q", "cuStreamQuery": "Q"},
                             ask) as who:
            self.gpu.sync()
        self.assertEqual(who.sites(), [("cuStreamSynchronize", ENTER), *inner,
                                       ("cuStreamSynchronize", EXIT), *inner])
        outer = [seen for seen in who.seen if seen.name == "cuStreamSynchronize"]
        self.pair(outer, "cuStreamSynchronize", [0])
        self.pair(who.seen[1:3], "cuStreamQuery", [0])
        self.assertEqual(len({seen.number for seen in who.seen}), 3)

    def test_what_the_library_asks_of_itself_is_not_seen(self):
        gpu, ptr = self.gpu, C.c_void_p()
        with self.subscribed({"cuMemAllocHost_v2": "QQ", "cuMemHostAlloc": "QQI",
                              "cuStreamCreate": "QI",
                              "cuStreamCreateWithPriority": "QIi"}) as who:
            gpu.call("cuMemAllocHost_v2", C.byref(ptr), C.c_size_t(64))
            gpu.stream()
        self.assertEqual([name for name, _ in who.sites()],
                         ["cuMemAllocHost_v2"] * 2 + ["cuStreamCreate"] * 2)
        gpu.call("cuMemFreeHost", ptr)

    def test_threads(self):
        """Calls of several threads do not mix up their correlation data."""
        shapes = {"cuMemGetInfo_v2": "QQ", "cuCtxSetCurrent": "Q"}

        def ask():
            self.gpu.call("cuCtxSetCurrent", self.gpu.ctx)
            for _ in range(100):
                self.gpu.call("cuMemGetInfo_v2", None, None)

        with self.subscribed(shapes) as who:
            threads = [threading.Thread(target=ask) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        calls = {}
        for seen in who.seen:
            calls.setdefault(seen.number, []).append(seen)
        self.assertEqual(len(calls), 404)
        for seen in calls.values():
            self.pair(seen, seen[0].name, seen[0].params)

    # ---- each kind of call ------------------------------------------------------

    def test_launches(self):
        gpu, fn, stream = self.gpu, self.gpu.function(b"gp_spin"), self.gpu.stream()
        ns = C.c_uint64(1000)
        params = (C.c_void_p * 1)(C.addressof(ns))
        at = C.addressof(params)
        shape = "Q7IQQ"
        self.check("cuLaunchKernel", shape + "Q",
                   [fn.value, 2, 1, 1, 32, 1, 1, 0, stream.value, at, 0],
                   fn, 2, 1, 1, 32, 1, 1, 0, stream, params, None)
        self.check("cuLaunchCooperativeKernel", shape,
                   [fn.value, 2, 1, 1, 32, 1, 1, 0, stream.value, at],
                   fn, 2, 1, 1, 32, 1, 1, 0, stream, params)
        config = C.create_string_buffer(struct.pack("<7I4xQQI4x", 1, 1, 1, 1, 1, 1, 0,
                                                    stream.value, 0, 0))
        self.check("cuLaunchKernelEx", "QQQQ", [C.addressof(config), fn.value, at, 0],
                   config, fn, params, None)
        graph = self.graph(fn, ns, stream)
        self.check("cuGraphLaunch", "QQ", [graph.value, stream.value], graph, stream)
        gpu.sync(stream)
        self.check("cuGraphExecDestroy", "Q", [graph.value], graph)
        self.check("cuStreamDestroy_v2", "Q", [stream.value], stream)

    def graph(self, fn, ns, stream):
        """An executable graph of one launch."""
        graph, executable = C.c_void_p(), C.c_void_p()
        self.gpu.call("cuStreamBeginCapture_v2", stream, 2)
        self.gpu.launch(fn, [ns], stream)
        self.gpu.call("cuStreamEndCapture", stream, C.byref(graph))
        self.gpu.call("cuGraphInstantiateWithFlags", C.byref(executable), graph,
                      C.c_uint64(0))
        self.gpu.call("cuGraphDestroy", graph)
        return executable

    def test_copies_and_waits(self):
        gpu, size = self.gpu, 4096
        stream, one, two = gpu.stream(), gpu.alloc(size), gpu.alloc(size)
        host = C.create_string_buffer(size)
        at, count = C.addressof(host), C.c_size_t(size)
        self.check("cuMemcpyHtoD_v2", "3Q", [one.value, at, size], one, host, count)
        self.check("cuMemcpyDtoH_v2", "3Q", [at, one.value, size], host, one, count)
        self.check("cuMemcpyDtoD_v2", "3Q", [two.value, one.value, size], two, one,
                   count)
        self.check("cuMemcpyHtoDAsync_v2", "4Q", [one.value, at, size, stream.value],
                   one, host, count, stream)
        self.check("cuMemcpyDtoHAsync_v2", "4Q", [at, one.value, size, stream.value],
                   host, one, count, stream)
        self.check("cuMemcpyDtoDAsync_v2", "4Q",
                   [two.value, one.value, size, stream.value], two, one, count, stream)
        self.check("cuMemsetD8_v2", "QB7xQ", [one.value, 3, 16], one, 3, C.c_size_t(16))
        self.check("cuMemsetD32Async", "QI4xQQ", [one.value, 3, 16, stream.value],
                   one, 3, C.c_size_t(16), stream)
        self.check("cuStreamWriteValue32_v2", "QQII", [stream.value, one.value, 7, 0],
                   stream, one, 7, 0)
        gpu.sync(stream)
        gpu.launch(gpu.function(b"gp_spin"), [C.c_uint64(1000000)], stream)
        self.check("cuStreamQuery", "Q", [stream.value], stream, result=NOT_READY)
        self.check("cuStreamSynchronize", "Q", [stream.value], stream)
        self.check("cuStreamQuery", "Q", [stream.value], stream)
        self.check("cuCtxSynchronize", "", [])
        for ptr in one, two:
            self.check("cuMemFree_v2", "Q", [ptr.value], ptr)
        self.check("cuMemFree_v2", "Q", [12345], C.c_uint64(12345), result=1)

    def test_events(self):
        gpu, event, stream = self.gpu, C.c_void_p(), self.gpu.stream()
        self.check("cuEventCreate", "QI", [C.addressof(event), 2], C.byref(event), 2)
        self.check("cuEventRecord", "QQ", [event.value, stream.value], event, stream)
        self.check("cuStreamWaitEvent", "QQI", [stream.value, event.value, 0], stream,
                   event, 0)
        self.check("cuEventSynchronize", "Q", [event.value], event)
        self.check("cuEventQuery", "Q", [event.value], event)
        self.check("cuEventDestroy_v2", "Q", [event.value], event)

    def test_memory_and_modules(self):
        ptr, module = C.c_uint64(), C.c_void_p()
        self.check("cuMemAlloc_v2", "QQ", [C.addressof(ptr), 64], C.byref(ptr),
                   C.c_size_t(64))
        self.check("cuMemHostAlloc", "QQI", [C.addressof(module), 64, 2],
                   C.byref(module), C.c_size_t(64), 2)
        self.check("cuMemFreeHost", "Q", [module.value], module)
        text = C.create_string_buffer(worker.PTX)
        self.check("cuModuleLoadData", "QQ", [C.addressof(module), C.addressof(text)],
                   C.byref(module), text)
        fn, name = C.c_void_p(), C.create_string_buffer(b"gp_spin")
        self.check("cuModuleGetFunction", "QQQ",
                   [C.addressof(fn), module.value, C.addressof(name)],
                   C.byref(fn), module, name)
        self.check("cuModuleUnload", "Q", [module.value], module)

    def test_contexts(self):
        """Entry and exit each have the context that is current at that time."""
        gpu, made = self.gpu, C.c_void_p()
        create = self.check("cuCtxCreate_v2", "QIi", [C.addressof(made), 0, 0],
                            C.byref(made), 0, 0)
        self.assertEqual([seen.context for seen in create], [gpu.ctx.value, made.value])
        self.assertNotEqual(create[0].uid, create[1].uid)
        sync = self.check("cuCtxSynchronize", "", [])
        self.assertEqual({seen.context for seen in sync}, {made.value})
        destroy = self.check("cuCtxDestroy_v2", "Q", [made.value], made)
        self.assertEqual([seen.context for seen in destroy],
                         [made.value, gpu.ctx.value])
        gpu.call("cuCtxSetCurrent", None)
        nothing = self.check("cuDevicePrimaryCtxRetain", "Qi", [C.addressof(made), 0],
                             C.byref(made), 0)
        self.assertEqual([(seen.context, seen.uid) for seen in nothing],
                         [(None, 0)] * 2)
        self.check("cuDevicePrimaryCtxRelease_v2", "i", [0], 0)
        gpu.call("cuCtxSetCurrent", gpu.ctx)

    def test_nothing_costs_time(self):
        """The model charges no GPU time for a subscriber."""
        gpu = self.gpu

        def cost():
            at = gpu.now()
            for _ in range(10):
                gpu.sync()
            return gpu.now() - at

        plain = cost()
        with self.subscribed({"cuStreamSynchronize": "Q"}) as who:
            self.assertEqual(cost(), plain)
        self.assertEqual(len(who.seen), 20)


if __name__ == "__main__":
    unittest.main()
