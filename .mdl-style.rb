# SPDX-License-Identifier: Apache-2.0
# Markdown that "make lint" accepts. tests/prose.py checks the width of lines, and the words.
all
exclude_rule 'MD013' # width: prose.py excepts tables and fences
exclude_rule 'MD010' # tabs: code in fences has them
rule 'MD024', allow_different_nesting: true
rule 'MD029', style: :ordered
