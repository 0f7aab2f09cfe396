# SPDX-License-Identifier: Apache-2.0
.PHONY: check-unit
check-unit: need-tests all $(TEST_PROGS)
	$(Q)$(PYTHON) tests/run.py --build $(O) $(TEST_PROGS)
