/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What pagemill_zero knows of the kernel's hugetlb code, by version. The code
 * speaks of folios; a huge page's first struct page is at the same address.
 */
#ifndef PAGEMILL_ZERO_KERNEL_H
#define PAGEMILL_ZERO_KERNEL_H

#include <linux/ftrace.h>
#include <linux/hugetlb.h>

#include "../include/kcompat.h"

/* Functions that are hooked or called, as this kernel names them. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define PMZ_CLEAR_NAME "clear_huge_page"
#else
#define PMZ_CLEAR_NAME "folio_zero_user"
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define PMZ_ALLOC_NAME "alloc_huge_page"
#else
#define PMZ_ALLOC_NAME "alloc_hugetlb_folio"
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#define PMZ_FREE_NAME "free_huge_page"
#else
#define PMZ_FREE_NAME "free_huge_folio"
#endif

/* The number of pages is the third argument up to 6.10. */
typedef void (*pmz_clear_fn)(struct folio *folio, unsigned long addr_hint, unsigned int pages);

/* Flags of a huge page were tested by page until 6.3. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define folio_test_hugetlb_temporary(folio) HPageTemporary(&(folio)->page)
#define folio_clear_hugetlb_freed(folio)    ClearHPageFreed(&(folio)->page)
#endif

/* The size of a fault became an order in 6.6. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
typedef enum page_entry_size pmz_fault_size;
#define PMZ_FAULT_SIZE_PMD PE_SIZE_PMD
#else
typedef unsigned int pmz_fault_size;
#define PMZ_FAULT_SIZE_PMD PMD_ORDER
#endif

/* Reserving returns a count or an error, no longer whether it was done. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
typedef bool pmz_reserved;
typedef vm_flags_t pmz_vma_flags;
typedef int pmz_avoid_reserve;
#define pmz_is_reserved(reserved) (reserved)
#else
typedef long pmz_reserved;
typedef vma_flags_t pmz_vma_flags;
typedef bool pmz_avoid_reserve;
#define pmz_is_reserved(reserved) ((reserved) >= 0)
#endif

/* A frame number to map had a type of its own. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#include <linux/pfn_t.h>
#define pmz_pfn_to_map(pfn) pfn_to_pfn_t(pfn)
#else
#define pmz_pfn_to_map(pfn) (pfn)
#endif

/*
 * Registers of a traced call got functions of their own after 6.1. On arm64 that
 * kernel has none to change the instruction pointer: all registers are asked for, and
 * put back.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#ifdef CONFIG_HAVE_DYNAMIC_FTRACE_WITH_ARGS
#define PMZ_HOOK_REGISTERS			       0
#define ftrace_regs_set_instruction_pointer(fregs, ip) ftrace_instruction_pointer_set(fregs, ip)
#else
#define PMZ_HOOK_REGISTERS			       FTRACE_OPS_FL_SAVE_REGS
#define ftrace_regs_set_instruction_pointer(fregs, ip) instruction_pointer_set(&(fregs)->regs, ip)
#endif
#define ftrace_regs_get_argument(fregs, n) regs_get_kernel_argument(&(fregs)->regs, n)
#else
#define PMZ_HOOK_REGISTERS 0
#endif

/* The first argument of the calls that are hooked. */
static inline struct folio *pmz_folio_of(struct ftrace_regs *fregs)
{
	return (struct folio *)ftrace_regs_get_argument(fregs, 0);
}

#endif
