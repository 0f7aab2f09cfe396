/* SPDX-License-Identifier: Apache-2.0 */
/* energy.h - what a device has used since its driver was loaded, where NVML tells. */
#ifndef GP_BENCH_RUN_ENERGY_H
#define GP_BENCH_RUN_ENERGY_H

struct gp_energy;

/**
 * @device: a UUID or a PCI address; @library: NVML's, as dlopen() takes it. NULL: it does not
 * tell.
 */
struct gp_energy *gp_energy_open(const char *device, const char *library);
void gp_energy_close(struct gp_energy *energy); /* NULL is fine */
/** J; < 0: it does not tell. NULL is fine. */
double gp_energy_joules(const struct gp_energy *energy);

#endif
