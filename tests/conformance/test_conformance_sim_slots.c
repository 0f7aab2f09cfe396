// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/conformance.h"

int main(void)
{
	return gp_conformance(&gp_rig_sim_slots);
}
