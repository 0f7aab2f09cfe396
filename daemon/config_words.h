/* SPDX-License-Identifier: Apache-2.0 */
/* config_words.h - internal to daemon/: the words of gpreempt.yaml, by their number. */
#ifndef GP_DAEMON_CONFIG_WORDS_H
#define GP_DAEMON_CONFIG_WORDS_H

/* Each ends with NULL. */
extern const char *const gp_config_be_policies[]; /* enum gp_config_be_policy */
extern const char *const gp_config_lc_policies[]; /* enum gp_config_lc_policy */
extern const char *const gp_config_log_levels[];  /* enum gp_log_level */

#endif
