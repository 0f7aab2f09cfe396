// SPDX-License-Identifier: Apache-2.0
/* runtime.c - uses NVIDIA's runtime, linked statically. Prints the results. */
#include <stdio.h>

int cudaGetDeviceCount(int *count);
int cudaMalloc(void **at, size_t bytes);
int cudaDeviceSynchronize(void);
int cudaFree(void *at);

int main(void)
{
	void *at = NULL;
	int count = 0;

	printf("%d", cudaGetDeviceCount(&count));
	printf(" %d", cudaMalloc(&at, 4096));
	printf(" %d", cudaDeviceSynchronize());
	printf(" %d\n", cudaFree(at));
	return 0;
}
