// SPDX-License-Identifier: GPL-2.0
/* The caches against one that keeps the time of each line, and counters against a ledger. */
#include "core.h"

#include "../../include/usertest.h"

#define ROUNDS	   60
#define REFERENCES 6000
#define LINES	   4096

static const struct pcc_geometry first = { 2048, 2, 64 };
static const struct pcc_geometry shared = { 32768, 4, 64 };

/* When each line was last used; 0: it is not there. */
struct model {
	u64 used[LINES];
	u32 sets, ways;
};

static struct model model_first, model_shared;
static u64 now;

/* The last report of a line that is not in the first cache. */
static struct {
	u64 count;
	u64 address;
	u32 task;
} told;

static void on_first_miss(u64 address, u32 bytes, u32 task)
{
	CHECK(bytes == 64 && address % 64 == 0);
	told.count++;
	told.address = address;
	told.task = task;
}

/* Whether it was there; `evicted` had to go, or LINES. */
static bool model_look_up(struct model *model, u32 line, u32 *evicted)
{
	u32 oldest = LINES, held = 0;
	bool hit = model->used[line];

	for (u32 other = line % model->sets; other < LINES; other += model->sets) {
		if (!model->used[other])
			continue;
		held++;
		if (oldest == LINES || model->used[other] < model->used[oldest])
			oldest = other;
	}
	*evicted = LINES;
	if (!hit && held == model->ways) {
		model->used[oldest] = 0;
		*evicted = oldest;
	}
	model->used[line] = ++now;
	return hit;
}

static void round_of(struct pcc_core *core, u64 *state)
{
	static struct pcc_task expected[PCC_TASKS_MAX];
	u32 lines = 64u << next_random(state) % 6;
	u64 misses = told.count;

	memset(&model_first, 0, sizeof(model_first));
	memset(&model_shared, 0, sizeof(model_shared));
	memset(expected, 0, sizeof(expected));
	model_first.sets = 16;
	model_first.ways = 2;
	model_shared.sets = 128;
	model_shared.ways = 4;
	pcc_begin(core);
	for (u32 frame = 0; frame < LINES / 64; frame++)
		pcc_own(core, (u64)frame << PCC_PAGE_SHIFT, next_random(state) % 4);
	for (int i = 0; i < REFERENCES; i++) {
		u64 random = next_random(state);
		u32 line = random % lines, evicted;
		u32 task = pcc_owner(core, (u64)line * 64);
		bool kernel = random >> 60 == 0;

		pcc_access(core, 0, (u64)line * 64 + (random >> 32) % 57, 8, kernel);
		if (kernel)
			expected[task].kernel_references++;
		else
			expected[task].user_references++;
		if (model_look_up(&model_first, line, &evicted))
			continue;
		expected[task].first_misses++;
		CHECK(told.address == (u64)line * 64 && told.task == task);
		misses++;
		if (model_look_up(&model_shared, line, &evicted))
			continue;
		expected[task].shared_misses++;
		expected[task].misses_by_color[line / 64 % 2]++;
		if (evicted != LINES)
			expected[task].evicted[pcc_owner(core, (u64)evicted * 64)]++;
	}
	CHECK(!memcmp(expected, core->task, sizeof(expected)));
	CHECK(told.count == misses);
}

static void check_geometry(void)
{
	struct pcc_geometry bad = { 3000, 2, 64 };
	struct pcc_geometry other_line = { 2048, 2, 32 };

	CHECK(!pcc_new(bad, shared));
	CHECK(!pcc_new(first, bad));
	CHECK(!pcc_new(other_line, shared));
}

/* A reference may touch two lines. */
static void check_straddling(struct pcc_core *core)
{
	pcc_begin(core);
	pcc_own(core, 0, 3);
	pcc_access(core, 1, 60, 8, false);
	CHECK(core->task[3].user_references == 1 && core->task[3].first_misses == 2);
	pcc_access(core, 2, 64, 1, true);
	CHECK(core->task[3].first_misses == 3 && core->task[3].shared_misses == 2);
	pcc_own(core, 0, 1000);
	CHECK(pcc_owner(core, 0) == PCC_TASKS_MAX - 1);
	pcc_own(core, ~0ull, 5);
	CHECK(pcc_owner(core, ~0ull) == 0);
}

int main(void)
{
	struct pcc_core *core = pcc_new(first, shared);
	u64 state = 1;

	CHECK(core && core->colors == 2);
	check_geometry();
	check_straddling(core);
	core->first_missed = on_first_miss;
	for (round_now = 0; round_now < ROUNDS; round_now++)
		round_of(core, &state);
	pcc_free(core);
	return 0;
}
