// SPDX-License-Identifier: Apache-2.0
/* The choice of the tenant that gives room. */
#include "daemon/room.h"
#include "tests/common/gp_test.h"

#define MIB (1ull << 20)
#define S 1000000000ull

static struct gp_room_tenant tenant_of(uint32_t weight, uint64_t off_ns)
{
	return (struct gp_room_tenant){
		.may = true,
		.movable = MIB,
		.asked_ns = UINT64_MAX,
		.since_ns = UINT64_MAX,
		.off_ns = off_ns,
		.weight = weight,
	};
}

static void expect(const struct gp_room_tenant *t, size_t n, int want, bool may)
{
	bool may_come = !may;

	assert_int_equal(gp_room_choose(t, n, &may_come), want);
	assert_int_equal(may_come, may);
}

static void test_order(void **state)
{
	struct gp_room_tenant t[] = { tenant_of(100, 1), tenant_of(50, 2), tenant_of(50, 3),
				      tenant_of(200, 9) };

	expect(t, 0, -1, false);
	expect(t, 1, 0, true);
	expect(t, 4, 2, true);
	/* One without a turn ever was longest without one. */
	t[1].off_ns = UINT64_MAX;
	expect(t, 4, 1, true);
	t[1].off_ns = 0;
	t[2].movable = 0;
	expect(t, 4, 1, true);
	t[1].away = true;
	t[1].movable = 0;
	expect(t, 4, 0, true);
	/* One that is stopped already has the rest of its memory leave first. */
	t[3].away = true;
	expect(t, 4, 3, true);
	t[3].away = false;
	t[0].may = false;
	expect(t, 4, 3, true);
}

static void test_one_at_a_time(void **state)
{
	struct gp_room_tenant t[] = { tenant_of(100, 1), tenant_of(50, 2) };

	/* It was asked, and then it moves. */
	t[1].asked_ns = GP_ROOM_BEGIN_NS - 1;
	expect(t, 2, -1, true);
	t[1].moving = true;
	t[1].asked_ns = GP_ROOM_MOVE_NS - 1;
	expect(t, 2, -1, true);
	/* Its memory is out: the next one. */
	t[1] = (struct gp_room_tenant){ .may = true, .away = true, .asked_ns = 3 * S };
	expect(t, 2, 0, true);
}

/* A tenant that gave a part is asked again at once, but not before it has. */
static void test_gives_more(void **state)
{
	struct gp_room_tenant t[] = { tenant_of(100, 1), tenant_of(50, 2) };

	t[0].away = true;
	t[0].asked_ns = t[0].since_ns = 0;
	expect(t, 2, -1, true);
	t[0].moving = true;
	expect(t, 2, -1, true);
	t[0].moving = false;
	t[0].gave = true;
	expect(t, 2, 0, true);
	/* It is back: then it was not asked for long, or counts as any other. */
	t[0].away = false;
	expect(t, 2, 1, true);
	/* It moves again and again, and nothing comes of that. */
	t[0].away = true;
	t[0].since_ns = GP_ROOM_MOVE_NS - 1;
	expect(t, 2, 0, true);
	t[0].since_ns = GP_ROOM_MOVE_NS;
	expect(t, 2, 1, true);
	t[0].asked_ns = GP_ROOM_SKIP_NS;
	expect(t, 2, 0, true);
	/* It has nothing left. */
	t[0].movable = 0;
	expect(t, 2, 1, true);
	expect(t, 1, -1, false);
}

static void test_none_waits_for_a_liar(void **state)
{
	struct gp_room_tenant t[] = { tenant_of(100, 1), tenant_of(50, 2) };

	/* It does not begin, or does not end, or moves without a request. */
	t[1].asked_ns = GP_ROOM_BEGIN_NS;
	expect(t, 2, 0, true);
	expect(t + 1, 1, -1, false);
	t[1].moving = true;
	t[1].asked_ns = GP_ROOM_MOVE_NS;
	expect(t, 2, 0, true);
	expect(t + 1, 1, -1, false);
	t[1].asked_ns = UINT64_MAX;
	expect(t, 2, 0, true);
	/* Later it has another chance. */
	t[1] = tenant_of(50, 2);
	t[1].asked_ns = GP_ROOM_SKIP_NS;
	expect(t, 2, 1, true);
}

static void test_other_users_tenants(void **state)
{
	struct gp_room_tenant t[] = { tenant_of(100, 1), tenant_of(50, 2) };

	t[0].may = t[1].may = false;
	t[0].moving = true;
	t[0].asked_ns = 1;
	expect(t, 2, -1, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_one_at_a_time),
		cmocka_unit_test(test_gives_more),
		cmocka_unit_test(test_none_waits_for_a_liar),
		cmocka_unit_test(test_other_users_tenants),
	};

	return gp_run_tests(tests);
}
