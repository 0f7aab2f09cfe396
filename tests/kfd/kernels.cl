kernel void k_nop(void) {}
