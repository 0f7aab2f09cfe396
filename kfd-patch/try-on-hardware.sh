#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# try-on-hardware.sh - ask a real card the questions that the software GPU cannot answer.
# usage: try-on-hardware.sh [--out FILE] [--programs DIR]
#
# Run as root on an idle card, gfx9 or gfx10, with any amdgpu; nothing else may use /dev/kfd.
# With a stock driver it asks for all that gpreempt needs there, in some minutes. With the patched
# driver and sched_policy=2 (docs/amd.md) it asks the rest. Each step relies only on earlier ones.
# The first surprise ends the run: a wrong result, a line in the kernel's log, or a program that
# does not end. The last line then names it. FILE (gpreempt-hardware-report.txt) has all output:
# versions, properties of the cards, times, the kernel's lines about amdgpu. It names no user,
# machine or serial number. Nothing is loaded, unloaded or reset.
#   --programs DIR   test programs that were built before: t_try, t_hw, t_dispatch, t_sched_hold
set -u

here=${BASH_SOURCE[0]%/*}
report=$PWD/gpreempt-hardware-report.txt
programs=
work=
splat='BUG:|WARNING:|Oops|Call Trace|general protection|INFO: task|\*ERROR\*'
splat+='|GPU reset|quarantined|ring .* timeout|preemption (failed|time out)|page fault'
limit_s=600

stop() {
	echo "try-on-hardware: $*" >&2
	exit 1
}

usage() {
	sed -n '3,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

options() {
	while [ $# -gt 0 ]; do
		case $1 in
		--out | --programs)
			[ $# -ge 2 ] || stop "$1 needs a value; --help describes the options"
			if [ "$1" = --out ]; then report=$2; else programs=$2; fi
			shift 2
			;;
		--help)
			usage
			exit 0
			;;
		*) stop "unknown option $1; --help describes the options" ;;
		esac
	done
}

# The first GPU of the topology: its node's folder.
find_node() {
	local props
	for props in /sys/class/kfd/kfd/topology/nodes/*/properties; do
		awk '$1 == "simd_count" && $2 > 0 {found = 1} END {exit !found}' "$props" ||
			continue
		echo "${props%/*}"
		return 0
	done
	return 1
}

property() {
	awk -v name="$1" '$1 == name {print $2}' "$node/properties"
}

parameter() {
	cat "/sys/module/amdgpu/parameters/$1" 2>/dev/null
}

# 90008 is gfx908, 90010 is gfx90a: two decimal digits each for minor, stepping.
target_of() {
	printf 'gfx%d%d%x' $(($1 / 10000)) $(($1 / 100 % 100)) $(($1 % 100))
}

in_use() {
	local file
	for file in /proc/[0-9]*/fd/*; do
		[ ! "$file" -ef /dev/kfd ] || return 0
	done
	return 1
}

preconditions() {
	[ "$(id -u)" = 0 ] || stop "needs root; run it with sudo"
	[ -e /dev/kfd ] || stop "no /dev/kfd: load amdgpu"
	node=$(find_node) || stop "the KFD has no GPU: see dmesg"
	target=$(target_of "$(property gfx_target_version)")
	! in_use || stop "/dev/kfd is in use; end all ROCm programs first"
	: >"$report" || stop "cannot write $report"
	work=$(mktemp -d) || stop "cannot make a folder for temporary files"
}

scheduler() {
	case $target:$(parameter sched_policy) in
	*:2) echo NO_HWS ;;
	gfx9*:* | gfx10*:*) echo HWS ;;
	*) echo MES ;;
	esac
}

# Say something to the user and to the report.
say() {
	echo "$*"
	echo "$*" >>"$report"
}

facts() {
	local name props
	say "card $target, $(property simd_count) SIMDs, kernel $(uname -r), scheduler $(scheduler)"
	{
		uname -s -r -v -m
		sed -n 's/^PRETTY_NAME=//p' /etc/os-release 2>/dev/null
		echo "amdgpu srcversion $(cat /sys/module/amdgpu/srcversion 2>/dev/null)"
		for name in sched_policy cwsr_enable hws_max_conc_proc mes noretry; do
			echo "amdgpu.$name=$(parameter $name)"
		done
		grep -H . /sys/module/amdgpu/parameters/nohws_* 2>/dev/null
		for props in /sys/class/kfd/kfd/topology/nodes/*/properties; do
			echo "$props"
			grep -Ev '^(unique_id|hive_id|location_id|domain) ' "$props"
		done
		cat "$node"/mem_banks/*/properties 2>/dev/null
		grep -E '^(MEC|RLC|SDMA)' /sys/kernel/debug/dri/*/amdgpu_firmware_info 2>/dev/null
	} >>"$report"
}

build() {
	local name
	if [ -n "$programs" ]; then
		return
	fi
	programs=$work/tests
	echo 'kernel void k(void) {}' |
		"${KFD_CLANG:-clang-15}" -x cl -target amdgcn-amd-amdhsa -mcpu="$target" \
			-nogpulib -S -o /dev/null - 2>/dev/null ||
		stop "${KFD_CLANG:-clang-15} makes no code for $target; install another" \
			"(gfx942: clang-17 or later) and name it by KFD_CLANG"
	for name in t_try t_hw t_dispatch t_sched_hold; do
		KFD_MCPU=$target python3 -B "$here/rig/rig.py" program --out "$work" "$name" \
			>>"$work/build.log" 2>&1 || {
			cat "$work/build.log"
			stop "$name does not build"
		}
	done
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

# The most precise name of the fault.
fault_of() {
	local status=$1 log=$2 tap=$work/tap
	if grep -q '^# fault: ' "$tap"; then
		sed -n 's/^# fault: //p' "$tap" | head -n 1
	elif [ "$status" = 124 ]; then
		echo "a program does not end"
	elif grep -q '^not ok' "$tap"; then
		sed -n 's/^not ok [0-9]* - //p' "$tap" | head -n 1
	elif [ -n "$log" ]; then
		echo "the kernel complains: ${log%%$'\n'*}"
	else
		echo "exit status $status"
	fi
}

surprise() {
	say "SURPRISE in \"$1\": $2"
	say "Stopped here, as it should. Please send $report"
	exit 2
}

# ask QUESTION PROGRAM ARGUMENTS...: stop if it fails or the kernel complains.
ask() {
	local question=$1 status log
	local mark="try-on-hardware: $1, $$"
	shift
	echo "$mark" >/dev/kmsg
	bounded "$work/tap" "$programs/$1" "${@:2}"
	status=$?
	log=$(log_since "$mark" | grep -E "amdgpu|amdkfd|kfd|$splat")
	{
		echo "== $question"
		cat "$work/tap"
		echo "$log"
	} >>"$report"
	log=$(echo "$log" | grep -E "$splat")
	sed -n 's/^# step: /  /p; s/^# figure: /    /p' "$work/tap"
	if [ $status -ne 0 ] || grep -q '^not ok' "$work/tap" || [ -n "$log" ]; then
		surprise "$question" "$(fault_of $status "$log")"
	fi
	say "as expected: $question"
}

stock() {
	ask "kernels run, on one queue" t_dispatch
	ask "queues off and on, CRIU's pause, LC beside BE" t_try
}

patched() {
	ask "the CP's state is in the MQD" t_hw writeback
	ask "restored on another slot" t_hw slot
	stock
	ask "queues of one pipe" t_hw pipes
	ask "a hold saves, a release restores" t_hw same
	ask "processes one after the other in a VMID" t_hw owners
	ask "processes with different code in a VMID" t_hw code
	ask "restored in another VMID" t_hw vmid
	ask "destroyed while being saved" t_hw leave
	ask "LC beside BE, with classes and holds" t_hw demo
	ask "holds of 1 to 32 queues" t_hw times
	ask "one call, eight processes, LC first" t_sched_hold
}

options "$@"
preconditions
trap 'rm -rf "$work"' EXIT
facts
case $target in
gfx9* | gfx10*) ;;
*)
	say "No question is left for a $target: its queues are the MES firmware's." \
		"gpreempt doctor --soak asks that"
	exit 0
	;;
esac
[ "$(parameter cwsr_enable)" != 0 ] ||
	stop "amdgpu.cwsr_enable=0: no wave can be saved; load amdgpu without it"
build
export KFD_SCALE=${KFD_SCALE:-1}
if [ -e /dev/kfd_sched ] && [ "$(scheduler)" = NO_HWS ]; then
	patched
else
	stock
	say "The rest needs the patched driver with sched_policy=2 (docs/amd.md): then run this again"
fi
say "no surprise. Please send $report"
