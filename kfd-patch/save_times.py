#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""save_times - how long saving a full GPU's waves can take, on paper.

Nothing here was measured. Bytes come from the driver's own formula, bandwidths
from the vendor's data sheets; both are cited beside the figures. The bytes are
the upper bound: every register file and all of LDS in use, by live waves. The
times are lower bounds for so many bytes: at the full bandwidth.
"""

# kfd_queue.c of Linux 6.12, WG_CONTEXT_DATA_SIZE_PER_CU and its parts. The control
# stack, 8 bytes for each of at most 40 waves a CU, is left out: under 0.1 %.
SGPR_BYTES = 0x4000
LDS_BYTES = 0x10000
HWREG_BYTES = 0x1000
VGPR_BYTES = {"gfx906": 0x40000, "gfx908": 0x80000, "gfx90a": 0x80000,
              "gfx942": 0x80000}

# CUs and target: ROCm documentation, "GPU hardware specifications". GB/s of
# memory and the PCIe generation: AMD's product pages of each card.
CARDS = [
    # name, target, CUs, memory GB/s, PCIe GB/s (x16, 85 % of the raw rate)
    ("Vega 20 (MI50)", "gfx906", 60, 1024, 26.8),
    ("MI100", "gfx908", 120, 1228.8, 26.8),
    ("MI210", "gfx90a", 104, 1638.4, 26.8),
    ("MI300X", "gfx942", 304, 5300, 53.6),
]

# kgd_gfx_v9_hqd_destroy() of 6.12 polls by usleep_range(500, 1000), one queue
# after the other; the series asks all and then polls by usleep_range(20, 50).
# The middle of each.
STOCK_POLL_US = 750
SERIES_POLL_US = 35
QUEUES = 24


def bytes_of(target, cus):
    per_cu = VGPR_BYTES[target] + SGPR_BYTES + LDS_BYTES + HWREG_BYTES
    return per_cu * cus


def one_after_the_other(us):
    """Each queue holds its part of the waves; each wait is a poll at least."""
    part = us / QUEUES
    polls = max(1, -(-part // STOCK_POLL_US))
    return QUEUES * polls * STOCK_POLL_US


def all_at_once(us):
    """The same bytes over the same memory, and one wait."""
    return us + SERIES_POLL_US


def main():
    print("| card | CUs | save area | in VRAM | over PCIe "
          f"| {QUEUES} queues in turn | asked at once |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, target, cus, memory, pcie in CARDS:
        size = bytes_of(target, cus)
        near, far = size / memory / 1e3, size / pcie / 1e3
        print(f"| {name} | {cus} | {size / 1e6:.1f} MB | {near:.0f} us "
              f"| {far:.0f} us | {one_after_the_other(near):.0f} / "
              f"{one_after_the_other(far):.0f} us "
              f"| {all_at_once(near):.0f} / {all_at_once(far):.0f} us |")


if __name__ == "__main__":
    main()
