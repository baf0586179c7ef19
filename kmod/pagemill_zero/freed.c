// SPDX-License-Identifier: GPL-2.0
/* The way back into the pool: what happens before free_huge_page. */
#include <linux/preempt.h>

#include "internal.h"

/* A page that goes to the buddy allocator, or is broken, is not worth cleaning. */
static bool is_worth_cleaning(struct page *page)
{
	struct hstate *h = pmz_symbols.size_to_hstate(page_size(page));

	return h && !PageHWPoison(page) && !HPageTemporary(page) &&
	       !READ_ONCE(h->surplus_huge_pages_node[page_to_nid(page)]);
}

/* A gigantic page takes long: not where the rest of the system would wait. */
static bool may_take_long(void)
{
	return preemptible() && !rcu_preempt_depth();
}

/*
 * In place of free_huge_page in mode on-free. No reference is left, and
 * the page is not in the pool yet: the CPU that freed it cleans it, so no process
 * finds less memory than there is.
 */
static notrace void clean_and_free(struct page *page)
{
	if (is_worth_cleaning(page) && may_take_long()) {
		unsigned long pfn = page_to_pfn(page);
		unsigned long end = pfn + compound_nr(page);

		for (; pfn < end; pfn += PMZ_PIECE_FRAMES)
			pmz_clear_piece(pfn);
		pmz_mark_set(page);
		pmz_count(PMZ_FREED_CLEANED);
	} else {
		pmz_count(PMZ_FREED_DIRTY);
	}
	pmz_symbols.free_huge_page(page);
	pmz_hook_leave();
}

static notrace void on_free(unsigned long ip, unsigned long parent_ip,
			    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct page *page = (struct page *)fregs->regs.di;

	if (pmz_hook_is_own_call(parent_ip))
		return;
	/* It was in use, whatever was known before. */
	pmz_mark_drop(page);
	switch (READ_ONCE(pmz_mode)) {
	case PMZ_MODE_ON_FREE:
		pmz_hook_redirect(fregs, clean_and_free);
		break;
	case PMZ_MODE_POOL:
		pmz_count(PMZ_FREED_DIRTY);
		pmz_pool_kick();
		break;
	default:
		pmz_count(PMZ_FREED_DIRTY);
	}
}

struct pmz_hook pmz_freed_hook = {
	.name = "free_huge_page",
	.ops = { .func = on_free },
};
