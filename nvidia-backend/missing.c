// SPDX-License-Identifier: Apache-2.0
/* missing.c - why the driver lists no GPU: a card may be there that the driver does not have. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nvidia-backend/nv_internal.h"

#define PCI "/sys/bus/pci/devices"
#define VENDOR "0x10de"
#define DISPLAY "0x03" /* class: VGA, 3D or other display controllers */

static bool attribute_starts(const char *card, const char *name, const char *text)
{
	char path[PATH_MAX], value[16] = "";
	FILE *f;
	bool is;

	snprintf(path, sizeof(path), PCI "/%s/%s", card, name);
	f = fopen(path, "re");
	is = f && fgets(value, sizeof(value), f) && !strncmp(value, text, strlen(text));
	if (f)
		fclose(f);
	return is;
}

static bool find_card(char *card, size_t len)
{
	DIR *pci = opendir(PCI);
	struct dirent *entry;
	bool found = false;

	while (pci && !found && (entry = readdir(pci))) {
		found = entry->d_name[0] != '.' &&
			attribute_starts(entry->d_name, "vendor", VENDOR) &&
			attribute_starts(entry->d_name, "class", DISPLAY);
		if (found)
			snprintf(card, len, "%s", entry->d_name);
	}
	if (pci)
		closedir(pci);
	return found;
}

/* The kernel's driver of @card, or "no driver". */
static void driver_of(const char *card, char *name, size_t len)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *slash;
	ssize_t n;

	snprintf(path, sizeof(path), PCI "/%s/driver", card);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	slash = strrchr(target, '/');
	snprintf(name, len, "%s", slash ? slash + 1 : "no driver");
}

void gp_nv_explain_missing(char *why, size_t why_len)
{
	char card[NAME_MAX + 1], driver[NAME_MAX + 1];

	if (!find_card(card, sizeof(card)))
		return;
	driver_of(card, driver, sizeof(driver));
	if (!strcmp(driver, "nvidia"))
		snprintf(why, why_len,
			 "nvidia: the driver has PCI %.32s, but /dev/nvidiactl is missing; start a "
			 "container with the GPU (--gpus all), else run nvidia-modprobe -u -c=0",
			 card);
	else
		snprintf(why, why_len,
			 "nvidia: PCI %.32s is an NVIDIA GPU, but %.32s has it; run modprobe "
			 "nvidia, or install NVIDIA's driver, 535 or later",
			 card, driver);
}
