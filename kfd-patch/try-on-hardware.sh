#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# try-on-hardware.sh - check on a real card the questions that the software GPU cannot answer.
# usage: try-on-hardware.sh [--out DIR]
#
# Run as root, with the patched amdgpu loaded with sched_policy=2 (see docs/amd.md), and no
# other program using the card. Each check relies only on earlier ones. The first surprise ends
# the run: in a result, in the kernel's log, or a program that does not end. Either way a
# report is packed: kernel log, topology, versions, timings. It names the machine and its
# cards, so look through it before you send it. This script loads, unloads and resets nothing.
set -u

here=$(cd "$(dirname "$0")" && pwd)
out=$PWD/gpreempt-hardware-report
splat='BUG:|WARNING:|Oops|Call Trace|general protection|INFO: task|\*ERROR\*'
splat+='|GPU reset|quarantined|ring .* timeout|preemption (failed|time out)|page fault'
limit_s=300

stop() {
	echo "try-on-hardware: $*" >&2
	exit 1
}

usage() {
	sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"
}

options() {
	while [ $# -gt 0 ]; do
		case $1 in
		--out)
			[ $# -ge 2 ] || stop "--out needs a folder"
			out=$2
			shift 2
			;;
		--help)
			usage
			exit 0
			;;
		*) stop "$1: unknown; --help says what there is" ;;
		esac
	done
}

# The first GPU of the topology: its node's folder.
find_node() {
	local props
	for props in /sys/class/kfd/kfd/topology/nodes/*/properties; do
		awk '$1 == "simd_count" && $2 > 0 {found = 1} END {exit !found}' "$props" ||
			continue
		dirname "$props"
		return 0
	done
	return 1
}

# 90008 is gfx908, 90010 is gfx90a: two decimal digits each for minor, stepping.
target_of() {
	local v
	v=$(awk '$1 == "gfx_target_version" {print $2}' "$1/properties")
	printf 'gfx%d%d%x' $((v / 10000)) $((v / 100 % 100)) $((v % 100))
}

preconditions() {
	local policy
	[ "$(id -u)" = 0 ] || stop "needs root"
	[ -e /dev/kfd ] || stop "no /dev/kfd: is amdgpu loaded?"
	policy=$(cat /sys/module/amdgpu/parameters/sched_policy 2>/dev/null)
	[ "$policy" = 2 ] ||
		stop "amdgpu.sched_policy is ${policy:-not there}; load amdgpu with sched_policy=2"
	[ -e /dev/kfd_sched ] ||
		stop "no /dev/kfd_sched: this amdgpu has not the series (docs/amd.md: build and load)"
	node=$(find_node) || stop "the KFD has no GPU"
	target=$(target_of "$node")
	case $target in
	gfx9*) ;;
	*) stop "$target: the tests' kernels are gfx9's" ;;
	esac
	echo 'kernel void k(void) {}' |
		"${KFD_CLANG:-clang-15}" -x cl -target amdgcn-amd-amdhsa -mcpu="$target" \
			-nogpulib -S -o /dev/null - 2>/dev/null ||
		stop "${KFD_CLANG:-clang-15} makes no code for $target; install another" \
			"(gfx942: clang-17 or later) and name it by KFD_CLANG"
	command -v fuser >/dev/null || stop "no fuser: apt-get install psmisc"
	! fuser -s /dev/kfd || stop "/dev/kfd is in use: $(fuser /dev/kfd 2>/dev/null)"
}

build() {
	local name
	for name in t_dispatch t_hw t_sched_hold; do
		KFD_MCPU=$target python3 -B "$here/rig/rig.py" program --out "$out/build" \
			"$name" >>"$out/build.log" 2>&1 ||
			stop "$name does not build: $out/build.log"
	done
}

facts() {
	uname -a >"$out/uname.txt"
	cp "$node/properties" "$out/topology.txt"
	cat "$node"/mem_banks/*/properties >"$out/memory.txt" 2>/dev/null
	cat /sys/module/amdgpu/srcversion >"$out/srcversion.txt" 2>/dev/null
	grep -H . /sys/module/amdgpu/parameters/nohws_* >"$out/parameters.txt" 2>/dev/null
	lspci -nnvv -d 1002: >"$out/lspci.txt" 2>/dev/null
}

pack() {
	dmesg >"$out/dmesg.txt"
	tar -C "$(dirname "$out")" --exclude=build -czf "$out.tar.gz" "$(basename "$out")"
	echo "report: $out.tar.gz"
}

# The kernel's log since the last mark: the log drops its beginning.
log_since() {
	dmesg | awk -v mark="$1" '
		index($0, mark) {text = ""; next}
		{text = text $0 "\n"}
		END {printf "%s", text}'
}

# bounded LOG PROGRAM ARGUMENTS...: its status; 124 when it does not end. timeout(1)
# would wait for ever for one that hangs in the driver and cannot be killed.
bounded() {
	local log=$1 pid left=$((limit_s * 5))
	shift
	"$@" >"$log" 2>&1 &
	pid=$!
	while kill -0 $pid 2>/dev/null; do
		if [ $left -eq 0 ]; then
			kill -KILL $pid
			return 124
		fi
		left=$((left - 1))
		sleep 0.2
	done
	wait $pid
}

# check NAME WHAT PROGRAM ARGUMENTS...: stop if it fails or the kernel complains
check() {
	local name=$1 what=$2 status log
	local mark="try-on-hardware: $1, $$"
	shift 2
	printf '%-52s' "$what"
	echo "$mark" >/dev/kmsg
	bounded "$out/$name.tap" "$out/build/tests/$1" "${@:2}"
	status=$?
	log=$(log_since "$mark" | grep -E "$splat")
	if [ $status -ne 0 ] || grep -q '^not ok' "$out/$name.tap" || [ -n "$log" ]; then
		echo "SURPRISE (status $status)"
		grep '^not ok\|^Bail' "$out/$name.tap"
		[ -z "$log" ] || echo "$log"
		pack
		stop "stopped here, as it should; please send the report"
	fi
	echo "as expected"
	sed -n 's/^# figure: /    /p' "$out/$name.tap"
}

options "$@"
preconditions
mkdir -p "$out" || exit 1
facts
build
export KFD_SCALE=1
trap 'pack; stop interrupted' INT TERM
echo "$target, kernel $(uname -r), report in $out"
check dispatch "kernels run, on one queue" t_dispatch
KFD_SCALE=0.01 check same_few "a few saves and restores" t_hw same
check same "many saves and restores, exact results" t_hw same
check slot "restored on another slot" t_hw slot
check vmid "restored in another VMID" t_hw vmid
check leave "destroyed while being saved" t_hw leave
check times "what a hold costs" t_hw times
KFD_SCALE=0.1 check hold "one call, eight processes, LC first" t_sched_hold
pack
