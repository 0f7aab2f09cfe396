#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two software GPUs of one server, used by one process."""
import ctypes as C
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import own_server  # noqa: E402,F401
os.environ["GPREEMPT_SOFTGPU_GPUS"] = "2"
os.environ.pop("CUDA_VISIBLE_DEVICES", None)
import worker  # noqa: E402

CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_NOT_SUPPORTED = 101, 801
PCI_BUS_ID = 33
MS = 1000000


class TwoGpus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gpu = [worker.Gpu(0), worker.Gpu(1)]
        cls.lib = cls.gpu[0].lib

    def current(self, number):
        self.gpu[number].call("cuCtxSetCurrent", self.gpu[number].ctx)
        return self.gpu[number]

    def spin(self, number, ns, stream):
        gpu = self.current(number)
        gpu.launch(gpu.function(b"gp_spin"), [C.c_uint64(ns)], stream, blocks=1, threads=1)

    def test_each_is_told_apart(self):
        uuids = set()
        for number in (0, 1):
            uuid, bus, dev = (C.c_ubyte * 16)(), C.c_int(), C.c_int()
            gpu = self.current(number)
            gpu.call("cuDeviceGetUuid", uuid, number)
            gpu.call("cuDeviceGetAttribute", C.byref(bus), PCI_BUS_ID, number)
            gpu.call("cuDeviceGetByPCIBusId", C.byref(dev), b"0000:%02x:00.0" % bus.value)
            self.assertEqual(dev.value, number)
            gpu.call("cuCtxGetDevice", C.byref(dev))
            self.assertEqual(dev.value, number)
            uuids.add(bytes(uuid))
        self.assertEqual(len(uuids), 2)
        self.assertEqual(self.lib.cuDeviceGet(C.byref(C.c_int()), 2), CUDA_ERROR_INVALID_DEVICE)

    def test_both_work_at_once(self):
        """Both run in parallel on one clock: 20 ms on each take 20 ms."""
        streams = [self.current(number).stream() for number in (0, 1)]
        start = self.gpu[0].now()
        for number, stream in enumerate(streams):
            self.spin(number, 10 * MS, stream)
            self.spin(number, 10 * MS, stream)
        for number, stream in enumerate(streams):
            self.current(number).sync(stream)
        self.assertAlmostEqual(self.gpu[0].now() - start, 20 * MS, delta=MS)

    def test_memory_is_one(self):
        """One GPU copies memory that the other one wrote."""
        first, second = self.gpu
        self.current(0)
        buf = first.alloc(64)
        first.call("cuMemsetD8_v2", buf, 7, C.c_size_t(64))
        first.sync()
        self.current(1)
        host = (C.c_ubyte * 64)()
        second.call("cuMemcpyDtoH_v2", host, buf, C.c_size_t(64))
        self.assertEqual(bytes(host), b"\x07" * 64)

    def test_a_stream_waits_for_its_own_device_only(self):
        event = C.c_void_p()
        stream = self.current(0).stream()
        self.gpu[0].call("cuEventCreate", C.byref(event), 0)
        self.spin(0, MS, stream)
        self.gpu[0].call("cuEventRecord", event, stream)
        other = self.current(1).stream()
        self.gpu[1].call("cuStreamWaitEvent", other, event, 0)
        with self.assertRaisesRegex(RuntimeError, f"cuLaunchKernel: {CUDA_ERROR_NOT_SUPPORTED}"):
            self.spin(1, MS, other)


if __name__ == "__main__":
    unittest.main()
