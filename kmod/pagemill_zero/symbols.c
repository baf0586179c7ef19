// SPDX-License-Identifier: GPL-2.0
/* Addresses of functions and data that the kernel does not export. */
#include <linux/kprobes.h>

#include "internal.h"

struct pmz_symbols pmz_symbols;

typedef unsigned long (*lookup_fn)(const char *name);

/* A kprobe finds any function, also the one that finds everything. */
static lookup_fn find_lookup(void)
{
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
	lookup_fn lookup;

	if (register_kprobe(&probe))
		return NULL;
	lookup = (lookup_fn)probe.addr;
	unregister_kprobe(&probe);
	return lookup;
}

int pmz_symbols_find(void)
{
	struct {
		const char *name;
		void *at;
		bool is_data; /* only listed with CONFIG_KALLSYMS_ALL, only needed by mode pool */
	} wanted[] = {
		{ PMZ_CLEAR_NAME, &pmz_symbols.clear },
		{ PMZ_FREE_NAME, &pmz_symbols.free },
		{ "hugetlb_reserve_pages", &pmz_symbols.hugetlb_reserve_pages },
		{ PMZ_ALLOC_NAME, &pmz_symbols.alloc },
		{ "size_to_hstate", &pmz_symbols.size_to_hstate },
		{ "hugetlb_lock", &pmz_symbols.hugetlb_lock, true },
		{ "hstates", &pmz_symbols.hstates, true },
		{ "hugetlb_max_hstate", &pmz_symbols.hugetlb_max_hstate, true },
	};
	lookup_fn lookup = find_lookup();
	unsigned int i;

	if (!lookup) {
		pr_err("kallsyms_lookup_name cannot be probed: is CONFIG_KPROBES on?\n");
		return -EOPNOTSUPP;
	}
	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		unsigned long address = lookup(wanted[i].name);

		if (!address && wanted[i].is_data) {
			pr_warn("this kernel does not list %s (CONFIG_KALLSYMS_ALL is off): mode pool is refused, other modes work\n",
				wanted[i].name);
			pmz_symbols.hugetlb_lock = NULL;
			return 0;
		}
		if (!address) {
			pr_err("this kernel has no %s: the module is for Linux 6.1 to 6.12, and 7.2\n",
			       wanted[i].name);
			return -EOPNOTSUPP;
		}
		*(unsigned long *)wanted[i].at = address;
	}
	return 0;
}
