// SPDX-License-Identifier: GPL-2.0
/*
 * What is known to be clean: a tag in the head frame's private word.
 *
 * A hugetlb page keeps its flags (HPG_*) in the low bits of that word; the tag
 * lies above. The buddy allocator resets the word whenever it hands a frame
 * out, so a tag cannot outlive the page. The tag holds the time of loading:
 * what a former load of the module left behind means nothing.
 */
#include <linux/ktime.h>

#include "internal.h"

#define TAG_SHIFT 16
#define FLAGS	  ((1UL << TAG_SHIFT) - 1)

static unsigned long tag;

static_assert(__NR_HPAGEFLAGS <= TAG_SHIFT);

void pmz_mark_init(void)
{
	/* Microseconds since boot: no load shares them with another. */
	tag = ((ktime_get_boottime_ns() >> 10) | 1) << TAG_SHIFT;
}

static unsigned long *word_of(struct folio *folio)
{
	return (unsigned long *)&folio->private;
}

/* Replaces the tag and leaves the flags, which others may be changing. */
static unsigned long exchange(struct folio *folio, unsigned long new_tag)
{
	unsigned long *word = word_of(folio);
	unsigned long old = READ_ONCE(*word);
	unsigned long seen;

	while ((seen = cmpxchg(word, old, (old & FLAGS) | new_tag)) != old)
		old = seen;
	return old & ~FLAGS;
}

/* Only for a page that no other process can write to. */
void pmz_mark_set(struct folio *folio)
{
	exchange(folio, tag);
}

bool pmz_mark_is_set(struct folio *folio)
{
	return (READ_ONCE(*word_of(folio)) & ~FLAGS) == tag;
}

/* Whether the page was clean; it is no longer known to be. */
bool pmz_mark_take(struct folio *folio)
{
	return pmz_mark_is_set(folio) && exchange(folio, 0) == tag;
}

void pmz_mark_drop(struct folio *folio)
{
	if (READ_ONCE(*word_of(folio)) & ~FLAGS)
		exchange(folio, 0);
}

/* Tidiness on unloading; correctness is the tag's. */
void pmz_mark_drop_all(void)
{
	struct hstate *h = pmz_symbols.hstates, *end;
	struct folio *folio;
	int node;

	if (!pmz_pool_is_possible())
		return;
	end = h + *pmz_symbols.hugetlb_max_hstate;
	spin_lock_irq(pmz_symbols.hugetlb_lock);
	for (; h < end; h++) {
		for_each_online_node(node)
			list_for_each_entry(folio, &h->hugepage_freelists[node], lru)
				pmz_mark_drop(folio);
	}
	spin_unlock_irq(pmz_symbols.hugetlb_lock);
}
