// SPDX-License-Identifier: GPL-2.0
/*
 * pagemill_color: memory in pages of chosen colors.
 *
 * For Linux 6.1, 6.12 and 7.2 on x86-64, and 6.1 on arm64, unmodified. See docs/coloring-kernel.md.
 */
#include "../include/kcompat.h"
#include "internal.h"
#include "pagemill_observe.h"

#if !KCOMPAT_IS_KNOWN_KERNEL
#error "pagemill_color knows the fault path of Linux 6.1 to 6.12, and 7.2"
#endif

u32 pmc_colors;

unsigned long pmc_cache_bytes = 6UL << 20;
module_param_named(cache_bytes, pmc_cache_bytes, ulong, 0444);
MODULE_PARM_DESC(cache_bytes, "capacity of the shared cache in bytes");

unsigned int pmc_ways = 24;
module_param_named(ways, pmc_ways, uint, 0444);
MODULE_PARM_DESC(ways, "lines of a set of the shared cache");

unsigned int pmc_line_bytes = 64;
module_param_named(line_bytes, pmc_line_bytes, uint, 0444);
MODULE_PARM_DESC(line_bytes, "bytes of a line of the shared cache");

static unsigned long limit_mib;
module_param(limit_mib, ulong, 0444);
MODULE_PARM_DESC(limit_mib, "most memory, in use and in stock; 0: half of all");

unsigned int pmc_space_percent = 75;
module_param_named(space_percent, pmc_space_percent, uint, 0444);
MODULE_PARM_DESC(space_percent, "most of this limit that one space may have, in percent");

static unsigned long keep_mib = 64;
module_param(keep_mib, ulong, 0444);
MODULE_PARM_DESC(keep_mib, "most memory that is kept in stock when it is freed");

module_param_named(observe, pmc_observe, bool, 0444);
MODULE_PARM_DESC(observe, "tell an emulator which frames belong to whom");

static int __init pagemill_color_init(void)
{
	int error;

	pmc_colors = pmc_geometry_colors(pmc_cache_bytes, pmc_ways, pmc_line_bytes, PAGE_SIZE);
	if (!pmc_colors) {
		pr_err("a cache of %lu bytes, %u ways and lines of %u bytes has no colors: 2 to %u are possible, a power of two\n",
		       pmc_cache_bytes, pmc_ways, pmc_line_bytes, PMC_COLORS_MAX);
		return -EINVAL;
	}
	if (!pmc_space_percent || pmc_space_percent > 100) {
		pr_err("space_percent is %u: 1 to 100 are possible\n", pmc_space_percent);
		return -EINVAL;
	}
	if (pmc_observe && !PAGEMILL_OBSERVE_IS_SEEN) {
		pr_err("observe=1 is for an emulated x86-64 machine: load the module without it\n");
		return -EOPNOTSUPP;
	}
	error = pmc_pages_init();
	if (error)
		return error;
	error = pmc_stock_init(limit_mib, keep_mib);
	if (error)
		goto no_stock;
	error = pmc_device_init();
	if (error)
		goto no_device;
	return 0;

no_device:
	pmc_stock_exit();
no_stock:
	pmc_pages_exit();
	return error;
}

/* No space is open: its file would hold the module. */
static void __exit pagemill_color_exit(void)
{
	pmc_device_exit();
	pmc_stock_exit();
	pmc_pages_exit();
}

module_init(pagemill_color_init);
module_exit(pagemill_color_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("The pagemill authors");
MODULE_DESCRIPTION("Memory in pages of chosen colors");
