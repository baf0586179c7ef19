// SPDX-License-Identifier: GPL-2.0
/* Reports to an emulator whose frame it is (uapi/pagemill_observe.h). Off unless asked for. */
#include <linux/highmem.h>
#include <linux/preempt.h>

#include "internal.h"
#include "pagemill_observe.h"

bool pmc_observe;

static u8 table[PAGEMILL_OBSERVE_TABLE_BYTES] __aligned(PAGE_SIZE);

/* Of space 0: of no task. */
void pmc_observe_owner(struct page *page, u32 space)
{
	if (!pmc_observe)
		return;
	/* The plugin keeps the number by CPU. */
	preempt_disable();
	PAGEMILL_OBSERVE(PAGEMILL_OBSERVE_TASK_LOW, table + (space & 0xff));
	PAGEMILL_OBSERVE(PAGEMILL_OBSERVE_TASK_HIGH, table + (space >> 8 & 0xff));
	PAGEMILL_OBSERVE(PAGEMILL_OBSERVE_OWN, page_address(page));
	preempt_enable();
}
