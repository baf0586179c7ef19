// SPDX-License-Identifier: GPL-2.0
/*
 * pagemill_zero: huge pages that are clean before they are needed.
 *
 * For Linux 6.1, 6.12 and 7.2 on x86-64, and 6.1 on arm64, unmodified. See docs/zeroing-kernel.md.
 */
#include "internal.h"

#if !KCOMPAT_IS_KNOWN_KERNEL
#error "pagemill_zero knows the hugetlb pool of Linux 6.1 to 6.12, and 7.2"
#endif

#if PAGE_SHIFT != 12
#error "pagemill_zero is for kernels with pages of 4 KiB"
#endif

bool pmz_unsafe_async;
module_param_named(unsafe_async, pmz_unsafe_async, bool, 0444);
MODULE_PARM_DESC(unsafe_async, "allow mode offload-async, which leaks and loses data");

/* A mark must not be taken before its being dropped is sure: freeing first. */
static struct pmz_hook *const hooks[] = {
	&pmz_freed_hook,
	&pmz_reserve_hook,
	&pmz_alloc_hook,
	&pmz_fault_hook,
};

static void remove_hooks(unsigned int count)
{
	while (count--)
		pmz_hook_remove(hooks[count]);
	pmz_hook_drain();
}

static int __init install_hooks(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		int error = pmz_hook_install(hooks[i]);

		if (error) {
			remove_hooks(i);
			return error;
		}
	}
	return 0;
}

static int __init pagemill_zero_init(void)
{
	int error = pmz_symbols_find();

	if (error)
		return error;
	pmz_mark_init();
	error = pmz_window_init();
	if (error)
		return error;
	error = pmz_pool_init();
	if (error)
		goto no_pool;
	error = install_hooks();
	if (error)
		goto no_hooks;
	error = pmz_device_init();
	if (error)
		goto no_device;
	return 0;

no_device:
	remove_hooks(ARRAY_SIZE(hooks));
no_hooks:
	pmz_pool_exit();
no_pool:
	pmz_window_exit();
	return error;
}

/* No helper is attached: its open file would hold the module. */
static void __exit pagemill_zero_exit(void)
{
	pmz_device_exit();
	remove_hooks(ARRAY_SIZE(hooks));
	pmz_pool_exit();
	pmz_mark_drop_all();
	pmz_window_exit();
}

module_init(pagemill_zero_init);
module_exit(pagemill_zero_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("The pagemill authors");
MODULE_DESCRIPTION("Huge pages that are clean before they are needed");
