// SPDX-License-Identifier: GPL-2.0
/* The fault: what happens instead of the kernel's clearing. */
#include <linux/highmem.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "internal.h"

/* Between two looks of the sampling check. */
#define SAMPLE_BYTES (64 << 10)

void pmz_clear_piece(unsigned long pfn)
{
	unsigned long i;

	for (i = 0; i < PMZ_PIECE_FRAMES; i++) {
		cond_resched();
		clear_page(pfn_to_kaddr(pfn + i));
	}
}

/* Whether a piece that is said to be clean passes the check that is set. */
bool pmz_piece_is_clean(unsigned long pfn)
{
	const char *bytes = pfn_to_kaddr(pfn);
	unsigned long at;

	switch (READ_ONCE(pmz_verify)) {
	case PMZ_VERIFY_FULL:
		return !memchr_inv(bytes, 0, PAGEMILL_ZERO_PIECE_BYTES);
	case PMZ_VERIFY_SAMPLE:
		for (at = 0; at < PAGEMILL_ZERO_PIECE_BYTES; at += SAMPLE_BYTES)
			if (*(const u64 *)(bytes + at))
				return false;
		return !*(const u64 *)(bytes + PAGEMILL_ZERO_PIECE_BYTES - 8);
	default:
		return true;
	}
}

/* In place of the kernel's clearing for a page that is clean. */
static notrace void nothing_to_clear(void)
{
}

/* In place of the kernel's clearing in the off-load modes. */
static notrace void clear_elsewhere(struct folio *folio, unsigned long addr_hint)
{
	bool helped = false;

	if (READ_ONCE(pmz_mode) == PMZ_MODE_OFFLOAD_ASYNC) {
		u64 start = get_cycles();

		pmz_offload_async(folio);
		pmz_note_handoff(get_cycles() - start);
		helped = true;
	} else {
		helped = pmz_offload_wait(folio);
	}
	if (!helped) {
		pmz_count(PMZ_FAULTS_CPU);
		pmz_symbols.clear(folio, addr_hint, folio_nr_pages(folio));
	}
	pmz_hook_leave();
}

static notrace void on_clear(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			     struct ftrace_regs *fregs)
{
	struct folio *folio = pmz_folio_of(fregs);
	enum pmz_mode mode = READ_ONCE(pmz_mode);

	if (pmz_hook_is_own_call(parent_ip) || mode == PMZ_MODE_PLAIN ||
	    !folio_test_hugetlb(folio) || !pmz_is_in_pieces(folio))
		return;
	if (pmz_mark_take(folio)) {
		pmz_count(PMZ_FAULTS_CLEAN);
		/* Cannot sleep, so it need not be counted as inside. */
		ftrace_regs_set_instruction_pointer(fregs, (unsigned long)nothing_to_clear);
		return;
	}
	if (mode >= PMZ_MODE_OFFLOAD_WAIT && pmz_window_may_post() && !pmz_window_is_helper()) {
		pmz_hook_redirect(fregs, clear_elsewhere);
		return;
	}
	pmz_count(PMZ_FAULTS_CPU);
}

struct pmz_hook pmz_fault_hook = {
	.name = PMZ_CLEAR_NAME,
	.ops = { .func = on_clear },
};
