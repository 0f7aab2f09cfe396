// SPDX-License-Identifier: Apache-2.0
/*
 * try-on-hardware.sh on the software GPU. It passes on healthy silicon, and names the fault of
 * every other: t_dry NAME, with the module's sim_silicon=NAME.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kfd.h"
#include "run.h"

#define REPORT "/tmp/report.txt"
#define HOST "secret-host"

static const struct {
	const char *silicon, *named;
} faults[] = {
	{ "mqd_never", "the CP does not write the read pointer to the MQD" },
	{ "mqd_late", "the CP writes the MQD only after ACTIVE fell" },
	{ "deaf", "a queue does not answer its dequeue request" },
	{ "wptr_lost", "a doorbell rung while a queue is off is lost" },
	{ "group_twice", "work runs twice after a restore" },
	{ "lds_lost", "a restore loses the state of waves: LDS" },
	{ "vgprs_lost", "a restore loses the state of waves: registers" },
	{ "signal_lost", "a packet cut by a save ends without its signal" },
	{ "neighbour", "a save damages another process's work" },
	{ "pipe_starved", "a queue waits as long as another one on its pipe has a wave" },
	{ "slot_bound", "waves do not return on another slot" },
	{ "vmid_bound", "waves do not return in another VMID" },
	{ "tlb_kept", "a VMID's new owner has its predecessor's memory" },
	{ "icache_kept", "a VMID's new owner runs its predecessor's code" },
};

static const char *name_of(const char *silicon)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (!strcmp(faults[i].silicon, silicon))
			return faults[i].named;
	bail("%s is no fault", silicon);
}

static const char *read_report(void)
{
	static char text[1 << 20];
	int fd = open(REPORT, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = 0;
	if (fd >= 0)
		close(fd);
	return text;
}

static void check_report(const char *has)
{
	const char *text = read_report();

	ok(strstr(text, has) != NULL, "the report has \"%s\"", has);
	ok(strstr(text, "gfx_target_version 90") != NULL, "and the card's properties");
	ok(!strstr(text, HOST) && !strstr(text, "unique_id"), "but no names");
}

static int run_script(void)
{
	return RUN("/bin/bash", "/t/try-on-hardware.sh", "--programs", "/t", "--out", REPORT);
}

int main(int argc, char **argv)
{
	const char *silicon = argc > 1 ? argv[1] : "healthy";
	const char *named;

	must(sethostname(HOST, strlen(HOST)), "host name");
	if (!strcmp(silicon, "healthy")) {
		is_err(run_script(), 0, "healthy silicon");
		SAYS("no surprise");
		ok(!simgpu_checks(), "nothing wrong was seen from below");
		check_report("no surprise");
		return done();
	}
	/* What the kernel and the software GPU say about such silicon is no failure here. */
	expect_dmesg(".");
	named = name_of(silicon);
	is_err(run_script(), 2, "silicon with the fault %s", silicon);
	SAYS(named);
	check_report(named);
	return done();
}
