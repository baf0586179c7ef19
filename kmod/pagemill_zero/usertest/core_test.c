// SPDX-License-Identifier: GPL-2.0
/*
 * core.c in user space: every order of events of a nearly full ring against a
 * model that remembers everything, with helpers that are honest, slow, or
 * write whatever they like.
 */
#include "core.h"

#include "../../include/usertest.h"

#define ROUNDS	400
#define STEPS	4000
#define ENTRIES PAGEMILL_ZERO_ENTRIES

/* What should be, without a ring: one record for each number ever given. */
struct model {
	struct {
		u64 seq;
		unsigned long pfn;
		enum { NONE, WITH_HELPER, LEAVING } state;
		bool done;
	} entry[ENTRIES];
	u64 next;
	unsigned int misses;
	bool attached;
};

struct helper {
	u64 cursor;
	bool hostile;
};

static struct pmz_core core;
static struct pagemill_zero_ring ring;
static struct model model;
static struct helper helper;

static void try_post(u64 random)
{
	unsigned int index = model.next % ENTRIES;
	bool should =
		model.attached && model.misses < PMZ_MISSES_MAX && model.entry[index].state == NONE;
	unsigned long pfn = random >> 20;
	int got;

	CHECK(pmz_core_may_post(&core) == should);
	got = pmz_core_post(&core, pfn, random % 3, 0, random);
	CHECK(got == (should ? (int)index : -EAGAIN));
	if (!should)
		return;
	model.entry[index].seq = model.next++;
	model.entry[index].pfn = pfn;
	model.entry[index].state = WITH_HELPER;
	model.entry[index].done = false;
}

static void take_back(unsigned int index)
{
	bool ours = pmz_core_begin_leave(&core, index);
	unsigned long pfn;

	CHECK(ours == (model.entry[index].state == WITH_HELPER));
	if (ours)
		model.entry[index].state = LEAVING;
	CHECK(!pmz_core_window_pfn(&core, index, &pfn));
}

static void finish(unsigned int index)
{
	if (model.entry[index].state != LEAVING)
		return;
	if (!helper.hostile)
		CHECK(pmz_core_is_done(&core, index) == model.entry[index].done);
	pmz_core_end_leave(&core, index);
	model.entry[index].state = NONE;
}

/* The loop of a real helper, which stops after `most` pieces. */
static void serve(unsigned int most)
{
	u64 head = ring.head;

	if (head - helper.cursor > ENTRIES)
		helper.cursor = head - ENTRIES;
	for (; helper.cursor != head && most; helper.cursor++) {
		unsigned int index = helper.cursor % ENTRIES;

		if (ring.entry[index].posted != helper.cursor)
			continue;
		CHECK(model.entry[index].state == WITH_HELPER);
		CHECK(model.entry[index].seq == helper.cursor);
		ring.entry[index].done = helper.cursor;
		model.entry[index].done = true;
		most--;
	}
}

/* A helper that has looked at everything has done all that is posted. */
static void check_nothing_was_missed(void)
{
	unsigned int i;

	serve(~0u);
	for (i = 0; i < ENTRIES; i++)
		if (model.entry[i].state == WITH_HELPER)
			CHECK(pmz_core_is_done(&core, i));
	CHECK(!pmz_core_has_work(&core));
}

static void scribble(u64 random)
{
	unsigned char *bytes = (unsigned char *)&ring;

	bytes[random % sizeof(ring)] = random >> 32;
	ring.entry[random % ENTRIES].done =
		random >> 50 & 1 ? ring.entry[random % ENTRIES].posted : random;
}

static void replace_helper(void)
{
	unsigned int i;

	pmz_core_detach(&core);
	model.attached = false;
	try_post(1);
	for (i = 0; i < ENTRIES; i++) {
		take_back(i);
		finish(i);
	}
	pmz_core_attach(&core);
	model.attached = true;
	model.misses = 0;
	helper.cursor = ring.head;
	CHECK(ring.head == model.next);
}

static void judge(u64 random)
{
	if (random & 1) {
		pmz_core_missed(&core);
		if (model.misses < PMZ_MISSES_MAX)
			model.misses++;
	} else {
		pmz_core_alive(&core);
		model.misses = 0;
	}
}

static void check_windows(void)
{
	unsigned int i;

	for (i = 0; i < ENTRIES; i++) {
		unsigned long pfn = 0;
		bool shown = pmz_core_window_pfn(&core, i, &pfn);

		CHECK(shown == (model.entry[i].state == WITH_HELPER));
		CHECK(!shown || pfn == model.entry[i].pfn);
	}
	CHECK(!pmz_core_window_pfn(&core, ENTRIES, &(unsigned long){ 0 }));
	CHECK(!pmz_core_window_pfn(&core, ~0u, &(unsigned long){ 0 }));
}

static void step(u64 random)
{
	unsigned int index = random >> 8 & (ENTRIES - 1);

	switch (random % 16) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4:
	case 5:
		try_post(random);
		break;
	case 6:
	case 7:
	case 8:
		take_back(index);
		break;
	case 9:
	case 10:
	case 11:
	case 12:
		finish(index);
		break;
	case 13:
		if (helper.hostile)
			scribble(random);
		else
			serve(random >> 40 & 15);
		break;
	case 14:
		judge(random >> 30 & 3 ? 0 : 1);
		break;
	default:
		if (random >> 20 & 63)
			check_windows();
		else
			replace_helper();
	}
}

static void ring_round(u64 *state)
{
	unsigned int i;

	memset(&model, 0, sizeof(model));
	memset(&helper, 0, sizeof(helper));
	pmz_core_init(&core, &ring);
	model.next = 1;
	CHECK(!pmz_core_may_post(&core));
	replace_helper();
	helper.hostile = round_now % 4 == 3;
	for (i = 0; i < STEPS; i++) {
		step(next_random(state));
		if (!helper.hostile && i % 64 == 0)
			check_nothing_was_missed();
	}
}

/* Pieces come back in any order; one that is dirty spoils the page. */
static void job_round(u64 *state)
{
	struct pmz_job job = { .pieces = 1 + next_random(state) % 512 };
	unsigned int posted = 0, back = 0;
	bool spoiled = false;

	while (!pmz_job_is_over(&job)) {
		u64 random = next_random(state);

		CHECK(!pmz_job_is_clean(&job));
		if (random & 1 && pmz_job_wants_post(&job)) {
			pmz_job_posted(&job);
			posted++;
		} else if (posted > back) {
			bool clean = random % 2048 != 2;

			pmz_job_returned(&job, clean);
			spoiled |= !clean;
			back++;
		}
	}
	CHECK(posted == back);
	CHECK(pmz_job_is_clean(&job) == (!spoiled && posted == job.pieces));
}

static void check_deadlines(void)
{
	pmz_core_init(&core, &ring);
	pmz_core_attach(&core);
	CHECK(pmz_core_post(&core, 1, PMZ_WAITER, 0, 1000) == 1);
	CHECK(!pmz_core_is_due(&core, 1, 1000, 1));
	CHECK(!pmz_core_is_due(&core, 1, 1499, 500));
	CHECK(pmz_core_is_due(&core, 1, 1500, 500));
	CHECK(pmz_core_is_due(&core, 1, 1000, 0));
}

int main(void)
{
	u64 state = 1;

	check_deadlines();
	for (round_now = 0; round_now < ROUNDS; round_now++) {
		ring_round(&state);
		job_round(&state);
	}
	printf("%u rounds of %u steps\n", ROUNDS, STEPS);
	return 0;
}
