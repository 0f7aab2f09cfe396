/* SPDX-License-Identifier: Apache-2.0 */
/* config_words.h - internal to daemon/: the words of gpreempt.yaml, by their number. */
#ifndef GP_DAEMON_CONFIG_WORDS_H
#define GP_DAEMON_CONFIG_WORDS_H

#define GP_CONFIG_ANY "any" /* default_max_class: */

/* It ends with NULL. */
extern const char *const gp_config_log_levels[]; /* enum gp_log_level */

#endif
