// SPDX-License-Identifier: GPL-2.0
/*
 * Pages that are being cleaned are missing for no process: a reservation or an
 * allocation that fails calls them back, dirty or not, and is tried again.
 */
#include <linux/err.h>

#include "internal.h"

static notrace pmz_reserved reserve_or_recall(struct inode *inode, long from, long to,
					      struct vm_area_struct *vma, pmz_vma_flags flags)
{
	pmz_reserved reserved = pmz_symbols.hugetlb_reserve_pages(inode, from, to, vma, flags);

	if (!pmz_is_reserved(reserved)) {
		pmz_pool_recall();
		reserved = pmz_symbols.hugetlb_reserve_pages(inode, from, to, vma, flags);
		pmz_pool_go_on();
	}
	pmz_hook_leave();
	return reserved;
}

static notrace struct folio *alloc_or_recall(struct vm_area_struct *vma, unsigned long address,
					     pmz_avoid_reserve avoid_reserve)
{
	struct folio *folio = pmz_symbols.alloc(vma, address, avoid_reserve);

	if (IS_ERR(folio)) {
		pmz_pool_recall();
		folio = pmz_symbols.alloc(vma, address, avoid_reserve);
		pmz_pool_go_on();
	}
	pmz_hook_leave();
	return folio;
}

/* Only where something can be away. */
static void redirect(unsigned long parent_ip, struct ftrace_regs *fregs, void *function)
{
	if (!pmz_hook_is_own_call(parent_ip) && pmz_pool_is_active())
		pmz_hook_redirect(fregs, function);
}

static notrace void on_reserve(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			       struct ftrace_regs *fregs)
{
	redirect(parent_ip, fregs, reserve_or_recall);
}

static notrace void on_alloc(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			     struct ftrace_regs *fregs)
{
	redirect(parent_ip, fregs, alloc_or_recall);
}

struct pmz_hook pmz_reserve_hook = {
	.name = "hugetlb_reserve_pages",
	.ops = { .func = on_reserve },
};

struct pmz_hook pmz_alloc_hook = {
	.name = PMZ_ALLOC_NAME,
	.ops = { .func = on_alloc },
};
