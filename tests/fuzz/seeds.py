#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of the fuzz targets to tests/fuzz/corpus/. A fuzzer's findings are beside
them, named after the fault."""
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))


def put(target, name, data):
    folder = os.path.join(HERE, "corpus", target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data.encode() if isinstance(data, str) else data)


def texts():
    for name, text in {
            "lc": "lc", "lc-level": "lc:7", "be": "be", "be-weight": "be:100",
            "none": "none", "empty": "", "zero": "lc:00", "sign": "be:-1",
            "colon": "lc:", "huge": "be:99999999999999999999",
            "blank": "lc: 3", "nul": "lc\0:3", "cap": "be:3,cap=30%",
            "cap-over": "be,cap=101%", "cap-lc": "lc,cap=1%",
            "edf": "lc:1,period=20ms,deadline=10ms,runtime=2ms",
            "edf-short": "lc,runtime=1.5us,period=10s",
            "edf-late": "lc,period=1ms,deadline=2ms,runtime=1ms",
            "twice": "lc,period=1ms,period=1ms"}.items():
        put("class", name, text)
    for name, text in {
            "url": "http://127.0.0.1:8000/sleep?level=1", "localhost": "http://localhost:1/",
            "port-huge": "http://localhost:65536/", "no-path": "http://localhost:80",
            "other-host": "http://127.0.0.2:80/", "blank": "http://localhost:80/a b",
            "two": "http://localhost:1/a,http://localhost:2/b",
            "limit": "http://localhost:1/a,http://localhost:2/b,10s",
            "limit-huge": "http://localhost:1/a,http://localhost:2/b,61s",
            "answer": "HTTP/1.1 200 OK\r\n", "answer-bad": "HTTP/1.1 503", "answer-short": "HTTP/1.0 2"}.items():
        put("hook", name, text)
    for name, text in {
            "us": "300us", "point": "1.5ms", "zero": "0s", "long": "1.123456789s",
            "too-long": "1.1234567890s", "no-unit": "12", "no-digits": "1.s",
            "huge": "18446744073709551616ns", "huge-s": "99999999999s",
            "part": "0.5ns", "pid": "4711", "pid-huge": "4294967296",
            "size": "64MiB", "size-huge": "16777216TiB", "size-b": "7B", "size-range": "1GiB:2GiB",
            "size-min": "1GiB:", "size-max": ":2GiB",
            "sign": "-1", "empty": ""}.items():
        put("cli", name, text)
    for name, text in {
            "soft": "soft0", "soft-huge": "soft99999999999", "soft-none": "soft",
            "uuid": "GPU-50f70000-6770-4000-8000-736f66743030",
            "uuid-short": "GPU-50f7", "uuid-odd": "GPU-5-0f7000067-7",
            "uuid-long": "GPU-50f70000-6770-4000-8000-736f6674303000",
            "pci": "0000:51:00.0", "pci-short": "51:00.0",
            "pci-long": "00000000:51:00.0", "pci-fn": "51:00.8",
            "index": "0", "empty": "", "blank": " soft0"}.items():
        put("spec", name, text)


def ptx():
    for name, text in {
            "one": ".version 7.0\n.visible .entry f(.param .u64 a,\n.param .u32 b)\n{}\n",
            "none": ".version 7.0\n", "no-params": ".entry f\n{}",
            "array": ".entry g(.param .align 8 .b8 s[24]) {}",
            "array-huge": ".entry g(.param .b8 s[99999999999]) {}",
            "array-open": ".entry g(.param .b8 s[", "align": ".entry g(.param .align 3 .b8 s[2])",
            "align-huge": ".entry g(.param .align 4096 .u8 s)",
            "type": ".entry g(.param .u1 s)", "type-none": ".entry g(.param s)",
            "name-long": ".entry " + "x" * 64 + "() {}", "name-none": ".entry (",
            "two": ".entry a() {} .entry b(.param .f32 x) {}",
            "params-65": ".entry a(" + ",".join([".param .u8 p"] * 65) + ")",
            "args-full": ".entry a(.param .b8 p[4096])",
            "args-over": ".entry a(.param .b8 p[4095],.param .u64 q)",
            "open": ".entry a(.param .u64 p"}.items():
        put("ptx", name, text)


def config():
    with open(os.path.join(HERE, "..", "..", "daemon", "gpreempt.yaml"),
              encoding="utf-8") as f:
        put("config", "example", f.read())
    for name, text in {
            "empty": "", "one": "be_policy: fair\n", "flow": "{be_policy: rr, be_quantum: 1ms}",
            "twice": "be_policy: fair\nbe_policy: rr\n", "unknown": "polcy: fair\n",
            "tab": "be_policy:\tfair\n\tbe_quantum: 1s\n", "open": 'be_policy: "fair',
            "list": "- policy\n", "null": "be_policy:\nrules: ~\n", "key": "? [a]\n: b\n",
            "documents": "be_policy: fair\n---\nbe_policy: rr\n...\n",
            "alias": "be_policy: &a fair\nlc_policy: *a\n",
            "bomb": "a: &a [x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nrules: [*c,*c]\n",
            "merge": "<<: {be_policy: fair}\n", "tag": "be_policy: !!binary ZmFpcg==\n",
            "deep": "rules: " + "[" * 2000, "deep-block": "- " * 2000,
            "utf16": "be_policy: fair\n".encode("utf-16"), "latin1": b"be_policy: f\xe4ir\n",
            "surrogate": b"be_policy: \xed\xa0\x80\n", "nul": "be_policy: fa\0ir\n",
            "escape": 'rules: [{exe: "/\\x85\\u2028\\uFEFF\\0", class: be}]\n',
            "block": "be_policy: |\n  fair\n", "folded": "be_policy: >-\n  fa\n  ir\n",
            "quotes": 'metrics_listen: "/\\"\\\\#: - \\u00fc"\n', "long": "be_policy: " + "x" * 600,
            "ipv6": 'metrics_listen: "[::1]:9464"\n', "ipv4": "metrics_listen: 127.0.0.1:9464\n",
            "cr": "be_policy: fair\r\nbe_quantum: 1.5ms\r", "yaml": "%YAML 1.1\n---\nbe_policy: rr\n",
            "rule": "rules:\n- user: a\n  group: '0'\n  cgroup: /a/**\n  exe: /**/b*\n"
                    "  container: 0123456789ab\n  device: 3b:00.0\n  class: none\n"
                    "  max_class: be:3\n",
            "pod": "rules:\n- namespace: a\n  pod: b-*\n  image: c/**\n"
                   "  annotation: d.e/f=g=h*\n  class: be\n",
            "edf": "lc_policy: edf\nrules: [{user: a, max_class: 'lc,period=2ms,runtime=1ms'}]\n",
            "cap": "devices: [{device: soft0, be_policy: credit}]\ndefault_class: be,cap=3%\n",
            "right": "default_max_class: any\n",
            "right-class": "default_max_class: 'lc:3,period=2ms,runtime=1ms'\nlc_policy: edf\n",
            "right-none": "default_max_class: none\nrules: [{user: 0, class: be}]\n",
            "limits": "limits_per_user: {tenants: 1, connections: 1025}\n",
            "rules": "rules:\n" + "- {user: 0, class: be}\n" * 129,
            }.items():
        put("config", name, text)


def peer():
    folder = os.path.join(HERE, "..", "..", "bench", "data", "peers")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".yaml"):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                put("peer", name[:-len(".yaml")], f.read())
    whole = "name: a\nwhat: b\nlc: %s\nbe: []\nhint: %s\nneeds: []\n"
    for name, text in {
            "least": whole % ("[]", "true"), "empty": "", "no-be": "name: a\nwhat: b\nlc: []\n",
            "names": whole % ('["{client}", "{class}{device}{folder}{peers}"]', "false"),
            "names-other": whole % ('["{what}", "{$NONE}", "{", "{}", "}{client"]', "false"),
            "braces": whole % ("[{client}]", "true"), "braces-dash": whole % ("\n- {a}/b", "true"),
            "words-16": whole % ("[" + "a, " * 16 + "]", "true"),
            "words-17": whole % ("[" + "a, " * 17 + "]", "true"),
            "word-long": whole % ("[" + "a" * 513 + "]", "true"),
            "word-long-name": whole % ('["' + "{client}" * 64 + '"]', "true"),
            "word-empty": whole % ('[""]', "true"), "word-none": whole % ("[~, ]", "true"),
            "word-control": whole % ('["\\e[2J"]', "true"), "word-list": whole % ("[[a]]", "true"),
            "hint-yes": whole % ("[]", "yes"), "hint-none": whole % ("[]", ""),
            "together": whole % ("[]", "true") + "together: [b]\n",
            "together-lc": whole % ("[a]", "true") + "together: [b]\n",
            "beside": whole % ("[a]", "true") + "beside: [b]\ncards_only: false\n",
            "unknown": whole % ("[a]", "true") + "schema_version: 1\n",
            "twice": whole % ("[a]", "true") + "lc: [b]\n",
            "json": '{"name": "a", "what": "b", "lc": [], "be": [], "hint": true, "needs": []}',
            }.items():
        put("peer", name, text)


# ---- wire/wire.h -------------------------------------------------------------
def wire(kind, body=b"", magic=0x47505245, version=1, size=None):
    size = 16 + len(body) if size is None else size
    return struct.pack("<IHHIi", magic, version, kind, size, 0) + body


def tenant_socket():
    def row(may, *msgs):
        return bytes([may]) + b"".join(
            struct.pack("<H", len(m)) + m for m in msgs)
    put("tenant_socket", "query", row(0, wire(1)))
    put("tenant_socket", "set", row(1, wire(2, struct.pack("<II", 1, 3)), wire(1)))
    put("tenant_socket", "set-none", row(1, wire(2, struct.pack("<II", 2, 0))))
    put("tenant_socket", "set-class", row(1, wire(2, struct.pack("<II", 99, 0))))
    put("tenant_socket", "set-refused", row(0, wire(2, struct.pack("<II", 1, 3))))
    put("tenant_socket", "hint", row(1, wire(3, struct.pack("<Q", 300000))))
    put("tenant_socket", "hint-far", row(1, wire(3, struct.pack("<Q", 2**64 - 1))))
    put("tenant_socket", "short", row(1, wire(3)[:9]))
    put("tenant_socket", "size", row(1, wire(3, bytes(8), size=400)))
    put("tenant_socket", "magic", row(1, wire(1, magic=1)))
    put("tenant_socket", "version", row(1, wire(1, version=2)))
    put("tenant_socket", "reply", row(1, wire(64), wire(65)))
    put("tenant_socket", "long", row(1, wire(1, bytes(500))))
    put("tenant_socket", "empty", row(1, b""))


def request(cls, value, cap=0, period=0, deadline=0, runtime=0, pad=0):
    return struct.pack("<IIIIQQQ", cls, value, cap, pad, period, deadline, runtime)


def daemon_wire():
    """Files, flags (1: bytes begin with the type, no head; 2: files unwanted; 4: in two rows;
    8: under the guard), length; and the unchanged golden messages."""
    def row(*msgs):
        return b"".join(struct.pack("<BBH", files, how, len(m)) + m
                        for files, how, m in msgs)

    def body(kind, data):
        return bytes([kind]) + data
    lc, be = request(1, 3), request(2, 250, cap=30)
    edf = request(1, 0, period=20000000, deadline=10000000, runtime=2000000)
    golden = os.path.join(HERE, "..", "wire", "golden", "v1")
    for name in sorted(os.listdir(golden)):
        with open(os.path.join(golden, name), "rb") as f:
            put("daemon_wire", "golden-" + name[:-4], row((1, 0, f.read())))
    for name, asked in {
            "lc": lc, "be": be, "edf": edf, "none": request(0, 0),
            "none-value": request(0, 7), "level": request(1, 16), "cls": request(3, 0),
            "weight": request(2, 10001), "weight-none": request(2, 0),
            "cap": request(2, 1, cap=101), "cap-lc": request(1, 0, cap=1),
            "pad": request(1, 0, pad=1), "late": request(1, 0, 0, 1, 2, 1),
            "long": request(1, 0, 0, 10**10 + 1, 2, 1),
            "part": request(1, 0, 0, 3, 2, 1), "no-deadline": request(1, 0, 0, 3, 0, 1)
            }.items():
        put("daemon_wire", "hello-" + name, row(
            (5, 1, body(16, bytes(16) + struct.pack("<II", 1, 0) + asked))))
        put("daemon_wire", "ask-" + name, row((0, 1, body(18, asked))))
    put("daemon_wire", "session", row(
        (2, 1, body(16, bytes(24))), (3, 1, body(17, b"")), (0, 1, body(18, lc)),
        (0, 1, body(24, b"")), (0, 1, body(25, b"")),
        (0, 1, body(26, struct.pack("<iI", 1, 0))),
        (0, 1, body(27, struct.pack("<iI", 1, 0) + bytes(16) + be)),
        (0, 1, body(28, struct.pack("<iI", 1, 3))), (0, 1, body(29, b""))))
    put("daemon_wire", "welcome", row((2, 1, body(80, struct.pack(
        "<iI", 1, 0) + edf + b"rule 1"))))
    put("daemon_wire", "tenant", row((0, 1, body(82, struct.pack("<iI", 1, 0) + bytes(
        16) + struct.pack("<IIII", 3, 127, 1, 2) + be + bytes(160) + b"x" * 16))))
    put("daemon_wire", "away", row(
        (0, 1, body(19, struct.pack("<IIII", 1, 2, 7, 8))), (0, 1, body(19, struct.pack("<II", 1, 17))),
        (0, 1, body(19, b"")), (0, 1, body(32, bytes(16) + struct.pack("<QII", 2**30, 0, 0)))))
    put("daemon_wire", "said-open", row((0, 1, body(85, b"x" * 512))))
    put("daemon_wire", "traced", row((0, 1, body(87, struct.pack(
        "<IIQQiIHHI", 1, 0, 1, 2, 3, 4, 12, 15, 0))), (0, 1, body(87, b"\x21"))))
    for files in (16, 17, 24):
        put("daemon_wire", f"files-{files}", row(
            (files, 1, body(17, b"")), (files, 3, body(17, b"")),
            (files, 5, body(17, b"")), (files, 9, body(17, b"")), (files, 0, b""),
            (files, 8, b"x")))
    put("daemon_wire", "long", row((0, 0, bytes(3608)), (1, 0, bytes(3609)),
                                   (17, 2, bytes(3640))))
    put("daemon_wire", "empty", b"")


# ---- nvidia-backend/rm_abi.h: the log's header and records --------------------
def log_header(put_at, count):
    return struct.pack("<IIQQQ", 0, put_at, count, 0, 0)


def log_record(tag, seqno, time_ns, pid=100, context=7, kind=2):
    return struct.pack("<HHIBBHIIHBBQ", kind, 0, 0, tag, 0, seqno, context, pid,
                       0, 0, 0, time_ns)


def ring():
    two = log_record(6, 0, 1000) + log_record(7, 1, 2000)
    for kind in (0, 2, 134):
        put("ring", f"kind-{kind}", bytes([4, 3]) + log_header(0, 0) +
            log_header(5, 5) + b"".join(
                log_record(tag, i, 1000 + i, kind=kind)
                for i, tag in enumerate((6, 7, 0, 255, 6))))
    put("ring", "gap", bytes([2, 0]) + log_header(0, 0) + log_header(2, 2) +
        log_record(6, 0, 1000) + log_record(7, 9, 2000))
    put("ring", "overrun", bytes([2, 7]) + log_header(0, 0) + log_header(1, 99) +
        two + two)
    put("ring", "backwards", bytes([2, 7]) + log_header(3, 3) + log_header(1, 1) +
        two)
    put("ring", "put-outside", bytes([2, 7]) + log_header(2**32 - 1, 5) +
        log_header(2**32 - 2, 2**64 - 1) + two)
    put("ring", "empty", b"")


# ---- softgpu/proto.h -----------------------------------------------------------
CLIENT, DEVICE, SUBDEVICE, GROUP, CHANNEL = 1, 2, 3, 4, 5
MEMORY = 0x0a0000000000
(HELLO, NOW, SLEEP, RM_OPEN, RM_IOCTL, MEM_ALLOC, MEM_BIND, MEM_FREE, MEM_INFO,
 KERNEL, SUBMIT, WAIT, QUERY, TIMER_ARM, TIMER_ACK, TIMER_DONE, VIRTUAL,
 MEM_RANGE) = range(1, 19)


def say(op, a=0, b=0, u=b"", data=b"", conn=0, file=0, nr=0, words=0):
    body = struct.pack("<QQ", a, b) + u.ljust(112, b"\0") + data
    return struct.pack("<BBBBBH", conn, op, file, nr, words, len(body)) + body


def ioctl(nr, arg, params=b"", **how):
    arg = arg.ljust((len(arg) + 7) // 8 * 8, b"\0")
    return say(RM_IOCTL, nr=nr, words=len(arg) // 4, data=arg + params, **how)


def alloc(parent, handle, cls, params=b"", **how):
    return ioctl(0x2b, struct.pack("<IIIIQQIIII", CLIENT, parent, handle, cls,
                                   0, 0, len(params), 0, 0, 0), params, **how)


def ctl(target, cmd, params=b"", **how):
    return ioctl(0x2a, struct.pack("<IIIIQII", CLIENT, target, cmd, 0, 0,
                                   len(params), 0), params, **how)


def point(seq, channel=CHANNEL):
    return struct.pack("<IIQ", channel, CLIENT, seq)


def submit(work, data=b"", kernel=0, grid=(1, 1, 1), block=(1, 1, 1), flags=0,
           args=0, waits=0, value=0, width=0, dst=0, src=0, count=0, stamp=0,
           conn=0, channel=CHANNEL):
    return say(SUBMIT, conn=conn, data=data, u=struct.pack(
        "<4I3I3I4I2I6Q", CLIENT, channel, work, kernel, *grid, *block, 0, flags,
        args, waits, value, width, dst, src, count, stamp, 1, 1000))


def launch(kernel, args, grid=(4, 1, 1), block=(256, 1, 1)):
    return submit(1, data=args, kernel=kernel, grid=grid, block=block,
                  flags=1, args=len(args))


def hold(index, word=MEMORY, stamp=MEMORY + 64, limit_ns=10**6):
    args = struct.pack("<QQQII", word, stamp, limit_ns, 5, index)
    return submit(1, data=args, kernel=6, args=len(args))


def virtual(what, a=0, b=0, access=0, handle=0):
    return say(VIRTUAL, a=a, b=b, u=struct.pack("<IIQ", what, access, handle))


def wait(seq, conn=0, op=WAIT):
    return say(op, conn=conn, u=struct.pack("<IIQ", 1, 0, 0), data=point(seq))


def server():
    put("server", "clock", say(NOW) + say(SLEEP, a=2 * 10**9) + say(NOW, conn=3) +
        say(SLEEP, a=2**64 - 1, conn=1) + say(MEM_INFO))
    put("server", "timer", say(TIMER_ARM, a=2 * 10**9, conn=2) +
        say(SLEEP, a=3 * 10**9) + say(TIMER_ACK, conn=2) +
        say(TIMER_DONE, conn=2) + say(TIMER_ARM, conn=2) + say(NOW, conn=2))
    put("server", "memory", say(MEM_ALLOC, a=4096, b=1) +
        say(MEM_BIND, a=2, b=0x700000000000) + say(MEM_ALLOC, a=2**40) +
        say(MEM_FREE, a=MEMORY) + say(MEM_FREE, a=1) +
        say(MEM_BIND, a=2, b=2**64 - 1))
    page = 2 << 20
    at = MEMORY + 2 * page          # behind the memory that exists already
    put("server", "virtual", virtual(1, a=2 * page) + virtual(3, a=page) +
        virtual(6, at, page, handle=2) + virtual(8, at, page, access=3) +
        launch(1, struct.pack("<QQII", at, 0, 3, 1)) + virtual(5, 2) + say(MEM_RANGE, a=at + 5) +
        virtual(7, at, page) + virtual(4, 2) + virtual(2, at, 2 * page))
    put("server", "virtual-wrong", virtual(1, a=2**63) + virtual(1, a=page, b=3) +
        virtual(3, a=2**62) + virtual(6, at, 2**64 - page, handle=2) + virtual(9) +
        virtual(8, at, page, access=2) + virtual(2, 2**64 - 1, 2**64 - 1))
    put("server", "set", submit(3, value=7, width=4, dst=MEMORY, count=4096) +
        submit(4, stamp=MEMORY) + wait(2) + wait(2, op=QUERY))
    put("server", "set-odd", submit(3, value=7, width=4, dst=MEMORY + 1, count=5) +
        submit(3, width=1, dst=MEMORY + 65535, count=2))
    put("server", "copy", submit(2, dst=MEMORY, src=MEMORY + 64, count=4096) +
        submit(2, data=b"abcdefgh", flags=2, dst=MEMORY, count=8) +
        submit(2, dst=MEMORY, src=MEMORY, count=2**64 - 1) + wait(3))
    for name in ("gp_work", "gp_hold", "nothing", "x" * 64):
        put("server", "kernel-" + name, say(KERNEL, data=name.encode()))
    for kernel, (name, args) in {
            1: ("work", struct.pack("<QQII", MEMORY, MEMORY + 4096, 5, 100)),
            2: ("smem", struct.pack("<QII", MEMORY, 5, 100)),
            3: ("tensor", struct.pack("<QII", MEMORY, 5, 100)),
            4: ("coop", struct.pack("<QIII", MEMORY, 5, 100, 4)),
            5: ("spin", struct.pack("<Q", 5000)),
            7: ("stream", struct.pack("<QIII", MEMORY, 5, 100, 3)),
            8: ("csr", struct.pack("<IIIIQQQQ", 0, 256, 64, 1, MEMORY, MEMORY + 4096,
                                   MEMORY + 8192, MEMORY + 12288)),
            9: ("stencil", struct.pack("<QQIII", MEMORY, MEMORY + 4096, 16, 16, 1)),
            10: ("live", struct.pack("<QQIII", MEMORY, MEMORY + 4096, 5, 100, 1))}.items():
        put("server", "launch-" + name, launch(kernel, args) + wait(1))
        put("server", f"launch-{name}-odd", launch(
            kernel, b"\1" + args[1:]) + wait(1) + submit(4))
        put("server", f"launch-{name}-max", launch(
            kernel, args[:8] + b"\xff" * (len(args) - 8)) + wait(1))
    for threads in (1, 384, 1024):
        put("server", f"launch-live-{threads}", launch(
            10, struct.pack("<QQIII", MEMORY, 0, 5, 100, 1), block=(threads, 1, 1)) + wait(1))
    put("server", "launch-live-2d", launch(10, bytes(28), block=(16, 16, 1)))
    put("server", "launch-stream-wide", launch(
        7, struct.pack("<QIII", MEMORY, 5, 100, 2**32 - 1), grid=(2**32 - 1, 1, 1)) + wait(1))
    put("server", "launch-csr-whole", launch(
        8, struct.pack("<IIIIQQQQ", 3, 16, 64, 1, MEMORY, MEMORY + 512, MEMORY + 8192,
                       MEMORY + 12288), grid=(1, 1, 1)) + wait(1))
    put("server", "launch-spin-max", launch(5, b"\xff" * 8) + wait(1))
    put("server", "launch-grid", launch(1, bytes(24), grid=(2**31 - 1, 65535, 2)) +
        launch(1, bytes(24), grid=(2**20, 2, 1)) + launch(9, bytes(24)))
    put("server", "hold", b"".join(hold(i) for i in (0, 1)) +
        wait(2) + submit(3, value=9, width=4, dst=MEMORY, count=4))
    put("server", "hold-released", submit(3, value=9, width=1, dst=MEMORY, count=4) +
        hold(0) + hold(1) + wait(3))
    put("server", "hold-limit-max", hold(0, limit_ns=2**64 - 1) + wait(1))
    put("server", "hold-word-odd", hold(0, word=MEMORY + 1) + wait(1))
    put("server", "hold-stamp-odd", hold(0, stamp=MEMORY + 1) + wait(1))
    put("server", "hold-end", hold(0) + ioctl(
        0x29, struct.pack("<IIII", CLIENT, 0, GROUP, 0)))
    put("server", "wait-channel", alloc(GROUP, 6, 0xc86f) + hold(0) + submit(
        4, channel=6, waits=1, data=point(1)) + wait(1))
    put("server", "waits", submit(4, waits=2, data=point(9) + point(1, 6)) +
        submit(4, waits=65) + wait(99, conn=1))
    put("server", "objects", alloc(GROUP, 6, 0xc86f) + alloc(6, 7, 0xcbc0) +
        alloc(GROUP, 6, 0xc86f) + alloc(CLIENT, 8, 0xa06c) + alloc(99, 9, 0x80) +
        ioctl(0x29, struct.pack("<IIII", CLIENT, 0, GROUP, 0)) + submit(4) +
        ioctl(0x29, struct.pack("<IIII", CLIENT, 0, CLIENT, 0)))
    put("server", "file", alloc(GROUP, 6, 0xc86f, file=1) +
        alloc(0, 9, 0x41, file=3, conn=3) + say(RM_OPEN) + say(RM_OPEN, conn=3))
    put("server", "group", ctl(GROUP, 0xa06c0103, struct.pack("<Q", 1)) +
        ctl(GROUP, 0xa06c0104, bytes(8)) + ctl(GROUP, 0xa06c0105, bytes(8)) +
        ctl(GROUP, 0xa06c0106, bytes(4)) + ctl(GROUP, 0xa06c0101, b"\0\0\0") +
        ctl(GROUP, 0xa06c0103, b"\1"))
    put("server", "client", ctl(CLIENT, 0x201, bytes(128)) +
        b"".join(ctl(CLIENT, 0xd02, struct.pack("<IIII", h, i, 0, 0))
                 for h in (CLIENT, GROUP, 99) for i in range(4)) +
        ctl(CLIENT, 0x214, bytes(384)) + ctl(99, 0x201))
    for cmd, sizes in {0x205: (32,), 0x215: (132,), 0x21b: (12,),
                       0x275: (268, 8)}.items():
        for size in sizes:
            put("server", f"client-{cmd:x}-{size}", ctl(
                CLIENT, cmd, struct.pack("<I", 0x5100).ljust(size, b"\0")) +
                ctl(CLIENT, cmd, struct.pack("<II", 0x5100, 2).ljust(size, b"\0")))
    put("server", "alloc21", ioctl(0x2b, struct.pack(
        "<IIIIQII", CLIENT, DEVICE, 0, 0xa06c, 0, 0, 0), bytes(20)) +
        alloc(0, 0, 0x41) + alloc(CLIENT, 6, 0x1234))
    put("server", "disable", ctl(SUBDEVICE, 0x2080110b, bytes(4) + struct.pack(
        "<I", 1) + bytes(16) + struct.pack("<64I", *[CLIENT] * 64) +
        struct.pack("<64I", *[CHANNEL] * 64)))
    memory = struct.pack("<IIIII", CLIENT, 0, 0, 0, 0).ljust(64, b"\0") + \
        struct.pack("<Q", 4096) + bytes(56)
    put("server", "log", alloc(DEVICE, 8, 0x3e, memory) +
        alloc(DEVICE, 9, 0x3e, memory) +
        alloc(CLIENT, 10, 0x90cd, struct.pack(
            "<QQIIQIIQ6I", 0, 0, 32, 8, 0, 0, 0, 0, 0, SUBDEVICE, 0, 8, 9, 0)) +
        ctl(SUBDEVICE, 0x20801238, struct.pack("<6I", 10, 32, 1, 0, 1, 0)) +
        ctl(10, 0x90cd0101, struct.pack("<II", 1, 1)) + submit(4) + wait(1))
    put("server", "version", ioctl(210, bytes(72)) + ioctl(200, bytes(72)) +
        ioctl(201, bytes(4)) + ioctl(206, bytes(16)) + ioctl(1, b""))
    put("server", "raw", struct.pack("<BBBBBH", 0x80, 5, 0, 0, 0, 3) + b"abc")
    put("server", "sizes", say(RM_IOCTL, conn=0x40, u=struct.pack(
        "<IIII", 0xc030462b, 48, 2**32 - 1, 1), data=bytes(48)))
    put("server", "hello", say(HELLO, u=struct.pack("<IIiI", 1, 1, 1, 0)))
    put("server", "unknown", say(99) + say(0, conn=1))


def gfx9():
    """Parts of a compiler's output, with suitable registers and LDS."""
    with open(os.path.join(HERE, "..", "gfx9", "kernels_co.h")) as f:
        body = f.read().split("{", 1)[1].split("}", 1)[0]
    data = bytes(int(b) for b in body.replace("\n", "").split(",") if b.strip())
    sections, = struct.unpack_from("<Q", data, 0x28)
    text = next((at, size) for at, size, flags in
                (struct.unpack_from("<QQ", data, sections + i * 64 + 0x18) +
                 struct.unpack_from("<Q", data, sections + i * 64 + 8)
                 for i in range(struct.unpack_from("<H", data, 0x3c)[0]))
                if flags & 4)
    code = data[text[0]:text[0] + text[1]]
    for i in range(0, len(code), 768):
        put("gfx9", f"code{i // 768:02}",
            bytes([11, 100, 200, i // 768, 60, 0, 1, 3]) + code[i:i + 768])


def results():
    head = '{"schema_version": 1, "suite": "theory", "figures": ['
    figure = '{"row": "a", "name": "p99_us", "better": "lower", "values": [1, 2.5, 3]}'
    for name, text in {
            "none": head + "]}", "one": head + figure + "]}",
            "twice": head + figure + "," + figure + "]}", "empty": "", "open": head,
            "no-version": '{"suite": "x", "figures": []}', "list": "[1]",
            "no-values": head + '{"row": "a", "name": "b", "better": "higher"}]}',
            "text": head + figure.replace("2.5", '"2"') + "]}",
            "zero": head + figure.replace("2.5", "0") + "]}",
            "huge": head + figure.replace("2.5", "1e999") + "]}",
            "deep": "[" * 3000, "key-twice": '{"suite": "a", "suite": "b"}',
            "control": '{"\x01\x1b[2J": ', "better": head + figure.replace("lower", "x") + "]}",
    }.items():
        put("results", name, text)


def plan():
    load = '{"type": "periodic", "frequency": 100, "priority": 0}'
    client = '{"name": "n", "model_name": "vgg", "batch_size": 1, "addr": "x"}'
    task = '{"id": "%s", "load": %s, "client": %s}'
    whole = '{"time": 60, "tasks": [%s]}'
    trace = '{"type": "trace", "trace": [0, 1.5, 3]}'
    after = '{"type": "dependent", "prev_task_ids": ["%s"]}'
    times = '{"priority": 0, "deadline_us": %u, "runtime_us": %u}'
    killed = '{"priority": 1, "killed_every_s": %s}'
    for name, text in {
            "one": whole % task % ("a", load, client), "none": whole % "",
            "two": whole % ",".join(task % (i, load, client) for i in "ab"),
            "twice": whole % ",".join(2 * [task % ("a", load, client)]),
            "trace": whole % task % ("a", trace, "{}"),
            "trace-back": whole % task % ("a", trace.replace("3", "1"), "{}"),
            "after": whole % ",".join([task % ("a", load, "{}"),
                                       task % ("b", after % "a", "{}")]),
            "circle": whole % task % ("a", after % "a", "{}"),
            "no-id": whole % '{"load": {"type": "continuous"}, "client": {}}',
            "many": whole % ",".join(task % (i, load, "{}") for i in range(65)),
            "huge": whole % task % ("a", load.replace("100", "1e999"), "{}"),
            "runtime": whole % task % ("a", load, times % (9000, 8000)),
            "runtime-long": whole % task % ("a", load, times % (9000, 9001)),
            "deadline-late": whole % task % ("a", load, times % (10001, 9)),
            "killed": whole % ",".join([task % ("a", load, killed % "2.5"),
                                        task % ("b", load, "{}")]),
            "all-killed": whole % task % ("a", load, killed % "3"),
            "after-killed": whole % ",".join([task % ("a", load, killed % "10"),
                                              task % ("b", after % "a", "{}")]),
            "killed-late": whole % task % ("a", load, killed % "1e9"),
            "deep": "[" * 3000, "empty": "", "control": '{"\x01\x1b[2J": 1}',
            "unknown": whole % task % ("a", load, '{"\\u001b[2J": 1, "": 2}')}.items():
        put("plan", name, text)


def workload():
    columns = '["gap_us", "length_us", "blocks", "threads", "registers", "shared_bytes"]'
    head = '{"schema_version": 1, "name": "a", "what": "b c", "device": "d", "driver": "1", '
    whole = head + '"solo_us": 1.5, "columns": ' + columns + ', "kernels": [%s]}'
    row = "[3.2, 10.4, 512, 256, 64, 0]"
    for name, text in {
            "one": whole % row, "two": whole % f"{row}, {row}", "none": whole % "",
            "most": whole % "[1e6, 1000000, 2147483647, 1024, 255, 262144]",
            "least": whole % "[0, 0.001, 1, 1, 0, 0]",
            "less": whole % "[0, 0.0001, 1, 1, 0, 0]", "short": whole % "[1, 2, 3]",
            "part": whole % row.replace("512", "512.5"),
            "below": whole % row.replace("3.2", "-3.2"),
            "huge": whole % row.replace("512", "99999999999999999999"),
            "columns": (whole % row).replace('"gap_us", ', ""),
            "version": (whole % row).replace("1,", "3,", 1),
            "tokens": (whole % f"{row}, {row}").replace("1,", "2,", 1).replace(
                '"kernels"', '"tokens": [1, 2], "kernels"'),
            "tokens-many": (whole % row).replace("1,", "2,", 1).replace(
                '"kernels"', '"tokens": [2], "kernels"'),
            "spin-shape": "spin:5us,blocks=32,shared=48KiB", "copy": "copy:in,bytes=4MiB",
            "memory": "memory:5us,set=64GiB,blocks=7", "tensor": "tensor:5us,blocks=9",
            "bfs": "bfs:18", "stencil": "stencil:400x200,steps=7", "uvm": "uvm:64MiB",
            "decoder": "decoder:20ms,next=3x2ms,gap=50us", "decoder-one": "decoder:1us", "no-name": '{"schema_version": 1}',
            "unknown": (whole % row).replace('"name"', '"\\u001b[2J": 1, "name"'),
            "control": '{"\x01\x1b[2J": 1}', "deep": "[" * 3000, "empty": "",
            "spin": "spin:500us", "spin-zero": "spin:0us", "train": "train:20x25us,gap=30us",
            "train-one": "train:1x1.5ms", "train-many": "train:100001x1ns",
            "train-open": "train:2x25us,", "name-long": "spin:" + "0" * 60 + "1us"}.items():
        put("workload", name, text)


def alias():
    whole = '{"schema_version": 1, "aliases": %s}'
    for name, text in {
            "one": whole % '{"a": "vgg19"}', "other": whole % '{"b": "spin:1ms"}',
            "none": whole % "{}", "list": whole % "[]", "number": whole % '{"a": 1}',
            "long": whole % ('{"a": "%s"}' % ("x" * 300)), "blank": whole % '{"a": ""}',
            "control": whole % '{"a\\u001b[2J": 1}', "twice": whole % '{"a": "b", "a": "c"}',
            "version": whole.replace("1", "2") % "{}", "deep": "[" * 3000, "empty": ""}.items():
        put("alias", name, text)


def oci():
    pod = ('{"annotations": {"io.kubernetes.cri.sandbox-name": "%s", "gpreempt.io/class": "be-5", '
           '"io.kubernetes.cri.sandbox-namespace": "b", "io.kubernetes.cri.container-name": "c", '
           '"io.kubernetes.cri.image-name": "d"}}')
    for name, text in {
            "pod": pod % "a", "control": pod % "a\\u0001", "long": pod % ("x" * 300),
            "crio": '{"annotations": {"io.kubernetes.pod.name": "a"}}',
            "runc": '{"config": {"labels": ["a=b", "bundle=/a/b"]}}',
            "crun": '{"bundle": "/a/b"}', "relative": '{"bundle": "a"}', "list": "[1]",
            "nul": '{"bundle": "/a\\u0000b"}', "twice": '{"bundle": "/a", "bundle": "/b"}',
            "many": '{"annotations": {%s}}' % ",".join(f'"{i}": "v"' for i in range(80)),
            "deep": "[" * 3000, "empty": ""}.items():
        put("oci", name, text)


def cgroup():
    for name, text in {
            "both": "2:memory:/a\n0::/b/c (deleted)\n1:name=systemd:/d\n", "one": "2:pids:/a\n",
            "outside": "0::/../a\n", "root": "0::/\n", "frozen": "populated 1\nfrozen 1\n",
            "thawed": "populated 1\nfrozen 0\n", "empty": ""}.items():
        put("cgroup", name, text)


if __name__ == "__main__":
    texts()
    plan()
    workload()
    alias()
    results()
    oci()
    cgroup()
    ptx()
    config()
    peer()
    tenant_socket()
    daemon_wire()
    ring()
    server()
    gfx9()
