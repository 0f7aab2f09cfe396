// SPDX-License-Identifier: Apache-2.0
#include "preload/together.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "wire/quota.h"

static struct {
	struct gp_quota_page *page; /* NULL: none */
	uint32_t place;
} mine;

/* If the file could shrink, a store could kill this process. */
static int check_file(int file)
{
	const int seals = fcntl(file, F_GET_SEALS);
	struct stat st;

	if (fstat(file, &st))
		return -errno;
	return seals >= 0 && (seals & F_SEAL_SHRINK) && st.st_size == sizeof(struct gp_quota_page) ?
		       0 :
		       -EPROTO;
}

int gp_together_open(int file, struct gp_quota_page **out)
{
	struct gp_quota_page *page;
	int err = check_file(file);

	if (err)
		return err;
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (page == MAP_FAILED)
		return -errno;
	if (page->magic != GP_QUOTA_MAGIC) {
		munmap(page, sizeof(*page));
		return -EPROTO;
	}
	*out = page;
	return 0;
}

void gp_together_close(struct gp_quota_page *page)
{
	if (page)
		munmap(page, sizeof(*page));
}

/* After execve() the place still has figures of the program before. */
struct gp_quota_page *gp_together_use(struct gp_quota_page *page, uint32_t place)
{
	struct gp_quota_page *before = mine.page;

	mine.page = page;
	mine.place = place;
	for (size_t i = 0; i < GP_WIRE_MAX_DEVICES; i++)
		atomic_store(&page->bytes[i][place], 0);
	return before;
}

/* Others may have written anything there. NULL: there is no such device. */
static _Atomic uint64_t *column_of(const uint8_t uuid[16])
{
	for (size_t i = 0; mine.page && i < GP_WIRE_MAX_DEVICES; i++)
		if (!memcmp(mine.page->uuid[i], uuid, 16))
			return mine.page->bytes[i];
	return NULL;
}

void gp_together_set(const uint8_t uuid[16], uint64_t bytes)
{
	_Atomic uint64_t *column = column_of(uuid);

	if (column)
		atomic_store(&column[mine.place], bytes);
}

bool gp_together_sum(const uint8_t uuid[16], uint64_t *sum)
{
	const _Atomic uint64_t *column = column_of(uuid);

	if (column)
		*sum = gp_quota_column_sum(column);
	return column;
}
