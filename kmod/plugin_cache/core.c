// SPDX-License-Identifier: GPL-2.0
/* Caches and their counters; see core.h. */
#include "core.h"

#include <stdlib.h>

static bool is_power_of_two(u64 number)
{
	return number && !(number & (number - 1));
}

static bool make_cache(struct pcc_cache *cache, struct pcc_geometry geometry)
{
	u64 sets;

	if (!geometry.ways || !is_power_of_two(geometry.line_bytes))
		return false;
	sets = geometry.bytes / geometry.ways / geometry.line_bytes;
	if (!is_power_of_two(sets) || sets > 1u << 24 ||
	    sets * geometry.ways * geometry.line_bytes != geometry.bytes)
		return false;
	cache->sets = sets;
	cache->ways = geometry.ways;
	cache->line_shift = __builtin_ctz(geometry.line_bytes);
	cache->lines = calloc(sets * geometry.ways, sizeof(*cache->lines));
	return cache->lines;
}

static void empty_cache(struct pcc_cache *cache)
{
	memset(cache->lines, 0, (size_t)cache->sets * cache->ways * sizeof(*cache->lines));
}

/* NULL if sets are not selected by address bits, or memory is short. */
struct pcc_core *pcc_new(struct pcc_geometry first, struct pcc_geometry shared)
{
	struct pcc_core *core = calloc(1, sizeof(*core));
	bool made =
		core && make_cache(&core->shared, shared) && first.line_bytes == shared.line_bytes;

	for (u32 cpu = 0; made && cpu < PCC_CPUS_MAX; cpu++)
		made = make_cache(&core->first[cpu], first);
	if (made)
		core->colors =
			((u64)core->shared.sets << core->shared.line_shift) >> PCC_PAGE_SHIFT;
	if (made && core->colors && core->colors <= PCC_COLORS_MAX)
		return core;
	pcc_free(core);
	return NULL;
}

void pcc_free(struct pcc_core *core)
{
	if (!core)
		return;
	for (u32 cpu = 0; cpu < PCC_CPUS_MAX; cpu++)
		free(core->first[cpu].lines);
	free(core->shared.lines);
	free(core);
}

/* Caches are empty and counters 0; owners stay. */
void pcc_begin(struct pcc_core *core)
{
	for (u32 cpu = 0; cpu < PCC_CPUS_MAX; cpu++)
		empty_cache(&core->first[cpu]);
	empty_cache(&core->shared);
	memset(core->task, 0, sizeof(core->task));
}

void pcc_own(struct pcc_core *core, u64 address, u32 task)
{
	u64 frame = address >> PCC_PAGE_SHIFT;

	if (frame < PCC_FRAMES_MAX)
		core->owner[frame] = task < PCC_TASKS_MAX ? task : PCC_TASKS_MAX - 1;
}

u32 pcc_owner(const struct pcc_core *core, u64 address)
{
	u64 frame = address >> PCC_PAGE_SHIFT;

	if (core->only_task)
		return core->only_task;
	return frame < PCC_FRAMES_MAX ? core->owner[frame] : 0;
}

/* Whether it was there. It is the most recent now; `evicted` had to go, if not 0. */
static bool look_up(struct pcc_cache *cache, u64 line, u64 *evicted)
{
	u64 *set = cache->lines + (line & (cache->sets - 1)) * cache->ways;
	u64 before = line + 1;

	for (u32 way = 0; way < cache->ways; way++) {
		u64 here = set[way];

		set[way] = before;
		if (here == line + 1)
			return true;
		before = here;
		if (!here)
			break;
	}
	*evicted = before;
	return false;
}

static void access_line(struct pcc_core *core, u32 cpu, u64 line, u32 task)
{
	struct pcc_task *counts = &core->task[task];
	u64 evicted = 0;

	if (look_up(&core->first[cpu], line, &evicted))
		return;
	counts->first_misses++;
	if (core->first_missed)
		core->first_missed(line << core->shared.line_shift, 1u << core->shared.line_shift,
				   task);
	if (look_up(&core->shared, line, &evicted))
		return;
	counts->shared_misses++;
	counts->misses_by_color[line << core->shared.line_shift >> PCC_PAGE_SHIFT &
				(core->colors - 1)]++;
	if (evicted)
		counts->evicted[pcc_owner(core, (evicted - 1) << core->shared.line_shift)]++;
}

/* One reference; in each line that it touches. */
void pcc_access(struct pcc_core *core, u32 cpu, u64 address, u32 bytes, bool kernel)
{
	u64 line = address >> core->shared.line_shift;
	u64 last = (address + (bytes ? bytes - 1 : 0)) >> core->shared.line_shift;
	u32 task = pcc_owner(core, address);

	if (kernel)
		core->task[task].kernel_references++;
	else
		core->task[task].user_references++;
	for (; line <= last; line++)
		access_line(core, cpu % PCC_CPUS_MAX, line, task);
}
