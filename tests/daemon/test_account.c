// SPDX-License-Identifier: Apache-2.0
/* Sums by container: they outlast tenants, and nothing is lost when there are too many. */
#include <stdio.h>
#include <string.h>

#include "daemon/device/account.h"
#include "tests/common/gp_test.h"

static struct gp_account *get(struct gp_accounts *all, const char *pod)
{
	struct gp_account_names names = { 0 };

	snprintf(names.pod, sizeof(names.pod), "%s", pod);
	return gp_account_get(all, &names);
}

static uint64_t used(const struct gp_accounts *all)
{
	uint64_t ns = 0;

	for (const struct gp_account *a = all->first; a; a = a->next)
		ns += a->used_ns;
	return ns;
}

static void test_one_account_of_equal_names(void **state)
{
	struct gp_accounts all = { 0 };
	struct gp_account *a = get(&all, "a"), *b = get(&all, "b");

	assert_ptr_not_equal(a, b);
	assert_ptr_equal(get(&all, "a"), a);
	assert_int_equal(a->tenants, 2);
	gp_account_put(&all, a);
	gp_account_put(&all, a);
	assert_ptr_equal(get(&all, "a"), a);
	gp_account_put(&all, NULL);
	gp_accounts_clear(&all);
	assert_null(all.first);
}

/* Pods of another namespace may have the same name. */
static void test_each_name_counts(void **state)
{
	static const struct gp_account_names names[] = {
		{ .pod = "" },	      { .pod = "a" }, { .namespace = "a" },
		{ .container = "a" }, { .job = "a" },
	};
	struct gp_accounts all = { 0 };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		gp_account_get(&all, &names[i]);
	assert_int_equal(all.count, sizeof(names) / sizeof(names[0]));
	gp_accounts_clear(&all);
}

static void test_the_oldest_joins_those_without_a_name(void **state)
{
	struct gp_accounts all = { 0 };
	struct gp_account *a, *stays = get(&all, "stays");
	uint64_t sum = 5;
	char name[16];

	stays->used_ns = 5;
	for (uint64_t i = 1; i <= 2 * GP_ACCOUNTS_MAX; i++) {
		snprintf(name, sizeof(name), "%d", (int)i);
		a = get(&all, name);
		a->used_ns += i;
		a->turns++;
		sum += i;
		gp_account_put(&all, a);
		assert_int_equal(used(&all), sum);
		assert_true(all.count <= GP_ACCOUNTS_MAX + 1);
	}
	a = get(&all, "");
	/* All but those which still have an account. */
	assert_int_equal(a->turns, 2 * GP_ACCOUNTS_MAX - (all.count - 2));
	assert_ptr_equal(get(&all, "stays"), stays);
	assert_int_equal(stays->used_ns, 5);
	gp_accounts_clear(&all);
}

/* With tenants in all of them, there is one more. */
static void test_no_account_of_a_tenant_is_taken(void **state)
{
	struct gp_accounts all = { 0 };
	char name[16];

	for (uint64_t i = 0; i < GP_ACCOUNTS_MAX + 10; i++) {
		snprintf(name, sizeof(name), "%d", (int)i);
		get(&all, name)->used_ns = 1;
	}
	assert_int_equal(used(&all), GP_ACCOUNTS_MAX + 10);
	gp_accounts_clear(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_account_of_equal_names),
		cmocka_unit_test(test_each_name_counts),
		cmocka_unit_test(test_the_oldest_joins_those_without_a_name),
		cmocka_unit_test(test_no_account_of_a_tenant_is_taken),
	};

	return gp_run_tests(tests);
}
