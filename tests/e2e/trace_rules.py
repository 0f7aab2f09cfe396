# SPDX-License-Identifier: Apache-2.0
"""Whether a file is a trace that viewers open."""
import json


def judge_trace(test, path):
    """The events of a trace, which keeps the rules of the Trace Event Format; by another
    hand than test_trace_json.c's."""
    with open(path) as f:
        trace = json.load(f)
    last, open_spans, named = {}, {}, set()
    for event in trace["traceEvents"]:
        track = event["pid"], event["tid"]
        test.assertIn(event["ph"], "MBEXi")
        test.assertGreaterEqual(event["ts"], 0)
        if event["ph"] == "M":
            if event["name"] == "thread_name":
                named.add(track)
            continue
        test.assertIn(track, named)
        if event["ph"] != "E":
            test.assertTrue(event["name"])
        if event["ph"] == "X":
            test.assertGreater(event["dur"], 0)
            continue
        test.assertGreaterEqual(event["ts"], last.get(track, 0))
        last[track] = event["ts"]
        spans = open_spans.setdefault(track, [])
        if event["ph"] == "B":
            spans.append(event)
        elif event["ph"] == "E":
            spans.pop()
    test.assertFalse([track for track, spans in open_spans.items() if spans])
    return trace["traceEvents"]
