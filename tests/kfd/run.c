// SPDX-License-Identifier: Apache-2.0
/* Other programs, run by a test. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"

#define COUNT_BYTES 4096

char run_output[RUN_OUTPUT_BYTES];

/* Does not return. The program's output goes to @fd. */
static void become(char *const argv[], int fd)
{
	dup2(fd, 1);
	dup2(fd, 2);
	close(fd);
	execv(argv[0], argv);
	_exit(127);
}

static struct run_program start(char *const argv[])
{
	struct run_program p;
	int fd[2];

	must(pipe2(fd, O_CLOEXEC) ? -errno : 0, "pipe");
	p.pid = fork();
	if (!p.pid)
		become(argv, fd[1]);
	close(fd[1]);
	p.from = fdopen(fd[0], "r");
	return p;
}

int run_quietly(char *const argv[])
{
	struct run_program p = start(argv);
	int status;

	run_output[fread(run_output, 1, sizeof(run_output) - 1, p.from)] = 0;
	fclose(p.from);
	waitpid(p.pid, &status, 0);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int run_program(char *const argv[])
{
	int status = run_quietly(argv);

	for (char *line = strtok(strdup(run_output), "\n"); line; line = strtok(NULL, "\n"))
		note("%s", line);
	return status;
}

struct run_program run_beside(char *const argv[])
{
	return start(argv);
}

bool run_reads(struct run_program *p, const char *word)
{
	char line[512];

	while (fgets(line, sizeof(line), p->from)) {
		line[strcspn(line, "\n")] = 0;
		note("%d: %s", p->pid, line);
		if (strstr(line, word))
			return true;
	}
	return false;
}

pid_t run_to_file(const char *path, char *const argv[])
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	pid_t pid;

	must(fd < 0 ? -errno : 0, path);
	pid = fork();
	if (!pid)
		become(argv, fd);
	close(fd);
	return pid;
}

char *run_text(uint64_t n)
{
	char *s;

	return asprintf(&s, "%llu", (unsigned long long)n) < 0 ? NULL : s;
}

volatile uint64_t *run_map_count(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *at = fd < 0 ? MAP_FAILED :
			    mmap(NULL, COUNT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		bail("%s: %s", path, strerror(errno));
	close(fd);
	return at;
}

volatile uint64_t *run_make_count(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd < 0 || ftruncate(fd, COUNT_BYTES) ? -errno : 0, path);
	close(fd);
	return run_map_count(path);
}

void run_find_libraries(void)
{
	static const char *const lib[] = {
		"libgpreempt.so.0",
		"libgpreempt-preload.so",
		"libgpreempt-layer.so",
		"libhsaq.so.0",
	};
	char from[128], to[128];

	mkdir("/lib", 0755);
	for (size_t i = 0; i < sizeof(lib) / sizeof(lib[0]); i++) {
		snprintf(from, sizeof(from), "/t/%s", lib[i]);
		snprintf(to, sizeof(to), "/lib/%s", lib[i]);
		if (!access(from, R_OK) && symlink(from, to) && errno != EEXIST)
			bail("%s: %s", to, strerror(errno));
	}
	setenv("LD_LIBRARY_PATH", "/t", 1);
	setenv("GP_KFD_HELPER", "/t/t_gpreempt", 1);
}
