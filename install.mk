# SPDX-License-Identifier: Apache-2.0
.PHONY: clean
clean:
	rm -rf $(O)
