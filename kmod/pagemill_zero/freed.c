// SPDX-License-Identifier: GPL-2.0
/* The way back into the pool: what happens before the kernel frees a huge page. */
#include <linux/preempt.h>

#include "internal.h"

/* A page that goes to the buddy allocator, or is broken, is not worth cleaning. */
static bool is_worth_cleaning(struct folio *folio)
{
	struct hstate *h = pmz_symbols.size_to_hstate(folio_size(folio));

	return h && pmz_is_in_pieces(folio) && !folio_test_hwpoison(folio) &&
	       !folio_test_hugetlb_temporary(folio) &&
	       !READ_ONCE(h->surplus_huge_pages_node[folio_nid(folio)]);
}

/* A gigantic page takes long: not where the rest of the system would wait. */
static bool may_take_long(void)
{
	return preemptible() && !rcu_preempt_depth();
}

/*
 * A kernel that does not count what forbids preemption (Debian's 6.1 for arm64)
 * cannot say whether a lock is held. There one piece is cleaned, without a pause.
 */
static bool may_take_a_piece(struct folio *folio)
{
	return !IS_ENABLED(CONFIG_PREEMPT_COUNT) && folio_nr_pages(folio) == PMZ_PIECE_FRAMES &&
	       in_task() && !irqs_disabled();
}

/* Whether it was cleaned. */
static bool clean(struct folio *folio)
{
	unsigned long pfn = folio_pfn(folio);
	unsigned long end = pfn + folio_nr_pages(folio);

	if (may_take_long()) {
		for (; pfn < end; pfn += PMZ_PIECE_FRAMES)
			pmz_clear_piece(pfn);
		return true;
	}
	if (!may_take_a_piece(folio))
		return false;
	for (; pfn < end; pfn++)
		clear_page(pfn_to_kaddr(pfn));
	return true;
}

/*
 * In place of the kernel's own in mode on-free. No reference is left, and
 * the page is not in the pool yet: the CPU that freed it cleans it, so no process
 * finds less memory than there is.
 */
static notrace void clean_and_free(struct folio *folio)
{
	if (is_worth_cleaning(folio) && clean(folio)) {
		pmz_mark_set(folio);
		pmz_count(PMZ_FREED_CLEANED);
	} else {
		pmz_count(PMZ_FREED_DIRTY);
	}
	pmz_symbols.free(folio);
	pmz_hook_leave();
}

static notrace void on_free(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			    struct ftrace_regs *fregs)
{
	struct folio *folio = pmz_folio_of(fregs);

	if (pmz_hook_is_own_call(parent_ip))
		return;
	/* It was in use, whatever was known before. */
	pmz_mark_drop(folio);
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
	.name = PMZ_FREE_NAME,
	.ops = { .func = on_free },
};
