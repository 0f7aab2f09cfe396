// SPDX-License-Identifier: Apache-2.0
#include "daemon/supervise/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define STATE_LEN 1024

/* A path, or an abstract name with @ for its first byte. */
static socklen_t address(const char *name, struct sockaddr_un *addr)
{
	size_t n = strlen(name);

	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	if ((name[0] != '/' && name[0] != '@') || !name[1] || n >= sizeof(addr->sun_path))
		return 0;
	memcpy(addr->sun_path, name, n);
	if (name[0] == '@')
		addr->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
}

static int tell(const char *name, const char *state)
{
	struct sockaddr_un addr;
	socklen_t len = address(name, &addr);
	int fd, err = 0;

	if (!len)
		return -EINVAL;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&addr,
		   len) < 0)
		err = -errno;
	close(fd);
	return err;
}

int gp_notify(const char *format, ...)
{
	const char *name = getenv("NOTIFY_SOCKET");
	char state[STATE_LEN];
	va_list ap;

	if (!name || !*name)
		return 0;
	va_start(ap, format);
	vsnprintf(state, sizeof(state), format, ap);
	va_end(ap);
	return tell(name, state);
}
