/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interfaces of Linux 6.12 and 7.2, for kernels that have older ones. Modules are
 * written for the newest kernel they know; what differs in an older one is here.
 */
#ifndef PAGEMILL_KCOMPAT_H
#define PAGEMILL_KCOMPAT_H

#include <linux/mm.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/version.h>

/* The series that the modules are written for. */
#define KCOMPAT_IS_KNOWN_KERNEL                                                                    \
	((LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0) &&                                         \
	  LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)) ||                                        \
	 (LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0) &&                                         \
	  LINUX_VERSION_CODE < KERNEL_VERSION(7, 3, 0)))

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/* MAX_ORDER was one more than the largest order until 6.4. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define MAX_PAGE_ORDER (MAX_ORDER - 1)
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#define MAX_PAGE_ORDER MAX_ORDER
#endif

/* Shrinkers are allocated by the kernel since 6.7. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
static inline struct shrinker *kcompat_shrinker_start(const char *name,
						      const struct shrinker *calls)
{
	struct shrinker *shrinker = kmemdup(calls, sizeof(*calls), GFP_KERNEL);
	int error = shrinker ? register_shrinker(shrinker, "%s", name) : -ENOMEM;

	if (!error)
		return shrinker;
	kfree(shrinker);
	return ERR_PTR(error);
}

static inline void kcompat_shrinker_stop(struct shrinker *shrinker)
{
	unregister_shrinker(shrinker);
	kfree(shrinker);
}
#else
static inline struct shrinker *kcompat_shrinker_start(const char *name,
						      const struct shrinker *calls)
{
	struct shrinker *shrinker = shrinker_alloc(0, "%s", name);

	if (!shrinker)
		return ERR_PTR(-ENOMEM);
	shrinker->count_objects = calls->count_objects;
	shrinker->scan_objects = calls->scan_objects;
	shrinker->seeks = calls->seeks;
	shrinker_register(shrinker);
	return shrinker;
}

static inline void kcompat_shrinker_stop(struct shrinker *shrinker)
{
	shrinker_free(shrinker);
}
#endif

#endif
