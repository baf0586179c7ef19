// SPDX-License-Identifier: GPL-2.0
/*
 * Mappings of a space. Their pages live in slots, not in page tables: what is
 * unmapped comes back with the next touch, so unmapping too much costs time
 * and nothing else.
 */
#include <linux/highmem.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "../include/kcompat.h"
#include "internal.h"

/* Page offsets of mappings; they may come round, since unmapping too much does no harm. */
#define OFFSETS_MASK ((1ULL << 50) - 1)

static atomic64_t next_offset = ATOMIC64_INIT(0);

static const struct vm_operations_struct region_ops;

static struct pmc_region *new_region(struct pmc_space *space, struct vm_area_struct *vma,
				     pgoff_t first)
{
	struct pmc_region *region = kzalloc(sizeof(*region), GFP_KERNEL_ACCOUNT);

	if (!region)
		return NULL;
	region->space = space;
	region->mm = vma->vm_mm;
	region->mapping = vma->vm_file->f_mapping;
	xa_init_flags(&region->slots, XA_FLAGS_ACCOUNT);
	region->start = vma->vm_start;
	region->first = first;
	region->count = vma_pages(vma);
	region->vmas = 1;
	return region;
}

/* Takes page-table entries away, in every process that has the region's offsets. One flush for all of them. */
void pmc_region_unmap(struct pmc_region *region, unsigned long slot, unsigned long count)
{
	/* To the kernel, 0 bytes are all that follow. */
	if (!count)
		return;
	unmap_mapping_range(region->mapping, (loff_t)(region->first + slot) << PAGE_SHIFT,
			    (loff_t)count << PAGE_SHIFT, 1);
}

/*
 * Empties slots that no page table leads to. A mapping that the kernel could
 * not split is closed empty, at page offset 0.
 */
void pmc_region_put_slots(struct pmc_region *region, unsigned long slot, unsigned long count)
{
	struct pmc_page *entry;
	unsigned long at;

	if (!count)
		return;
	xa_for_each_range(&region->slots, at, entry, slot, slot + count - 1) {
		xa_erase(&region->slots, at);
		pmc_page_put(region->space, entry);
		cond_resched();
	}
}

/* A child's slot: the same frame, or a copy where another user holds the frame and may write to it. */
static int share_slot(struct pmc_region *child, unsigned long slot, struct pmc_page *entry)
{
	struct pmc_page *own = entry;
	int error;

	if (entry->shares == 1 && page_count(entry->page) != 1) {
		own = pmc_page_deal(child->space);
		if (IS_ERR(own))
			return PTR_ERR(own);
		copy_highpage(own->page, entry->page);
		child->space->counts.cow_copied++;
	} else {
		entry->shares++;
	}
	error = xa_err(xa_store(&child->slots, slot, own, GFP_KERNEL));
	if (error)
		pmc_page_put(child->space, own);
	return error;
}

/* What the slots of `parent` that `child` maps hold. Unmapped first, so that the next write is seen. */
static int share_slots(struct pmc_region *child, struct pmc_region *parent)
{
	unsigned long low = child->first - parent->first, at;
	struct pmc_page *entry;

	pmc_region_unmap(child, 0, child->count);
	xa_for_each_range(&parent->slots, at, entry, low, low + child->count - 1) {
		int error = share_slot(child, at - low, entry);

		if (error)
			return error;
		cond_resched();
	}
	return 0;
}

static void free_region(struct pmc_region *region)
{
	list_del(&region->node);
	xa_destroy(&region->slots);
	kfree(region);
}

/*
 * fork(2). It cannot be refused here; where memory is short, the child gets
 * SIGBUS when it touches what it did not get.
 */
static struct pmc_region *fork_region(struct pmc_region *parent, struct vm_area_struct *vma)
{
	struct pmc_space *space = parent->space;
	struct pmc_region *child = new_region(space, vma, vma->vm_pgoff);

	if (!child)
		return NULL;
	mutex_lock(&space->lock);
	list_add_tail(&child->node, &space->regions);
	if (share_slots(child, parent)) {
		pmc_region_put_slots(child, 0, child->count);
		free_region(child);
		child = NULL;
	}
	mutex_unlock(&space->lock);
	return child;
}

/* Whether a mapping lies where its region has its slots; one that mremap(2) is about to make does not. */
static bool is_in_place(const struct pmc_region *region, const struct vm_area_struct *vma)
{
	return vma->vm_start == region->start + ((vma->vm_pgoff - region->first) << PAGE_SHIFT);
}

/* A part of a mapping that is split, a child's copy, or a copy that region_mremap will refuse. */
static void region_open(struct vm_area_struct *vma)
{
	struct pmc_region *region = vma->vm_private_data;

	if (!region)
		return;
	if (vma->vm_mm != region->mm)
		vma->vm_private_data = fork_region(region, vma);
	else if (is_in_place(region, vma))
		region->vmas++;
	else
		vma->vm_private_data = NULL;
}

/* What is unmapped is given back, also if other parts of the mapping stay. */
static void region_close(struct vm_area_struct *vma)
{
	struct pmc_region *region = vma->vm_private_data;
	struct pmc_space *space;

	if (!region)
		return;
	space = region->space;
	mutex_lock(&space->lock);
	pmc_region_put_slots(region, vma->vm_pgoff - region->first, vma_pages(vma));
	if (!--region->vmas)
		free_region(region);
	mutex_unlock(&space->lock);
}

static int region_mremap(struct vm_area_struct *vma)
{
	return -EINVAL;
}

static const struct vm_operations_struct region_ops = {
	.open = region_open,
	.close = region_close,
	.mremap = region_mremap,
	.fault = pmc_fault,
	.page_mkwrite = pmc_fault_mkwrite,
};

int pmc_region_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct pmc_space *space = file->private_data;
	unsigned long count = vma_pages(vma);
	struct pmc_region *region;

	if (!(vma->vm_flags & VM_SHARED) || vma->vm_pgoff)
		return -EINVAL;
	region = new_region(space, vma, atomic64_fetch_add(count, &next_offset) & OFFSETS_MASK);
	if (!region)
		return -ENOMEM;
	if (mutex_lock_killable(&space->lock)) {
		kfree(region);
		return -EINTR;
	}
	list_add_tail(&region->node, &space->regions);
	mutex_unlock(&space->lock);
	vma->vm_pgoff = region->first;
	vma->vm_private_data = region;
	vma->vm_ops = &region_ops;
	vm_flags_set(vma, VM_DONTEXPAND);
	return 0;
}

/* The mapping of this file at an address, or NULL. Below mmap_lock. */
static struct vm_area_struct *find_part(struct file *file, u64 at)
{
	struct vm_area_struct *vma = vma_lookup(current->mm, at);

	if (!vma || vma->vm_ops != &region_ops || vma->vm_file != file || !vma->vm_private_data)
		return NULL;
	return vma;
}

static bool is_all_mapped(struct file *file, u64 at, u64 end)
{
	while (at < end) {
		struct vm_area_struct *vma = find_part(file, at);

		if (!vma)
			return false;
		at = vma->vm_end;
	}
	return true;
}

/* No new fault begins while the space is locked; those under way are waited for. */
static void release_slots(struct pmc_region *region, unsigned long slot, unsigned long count)
{
	struct pmc_page *entry;
	unsigned long at;

	xa_for_each_range(&region->slots, at, entry, slot, slot + count - 1) {
		pmc_wait_for_faults(entry->page);
		cond_resched();
	}
	pmc_region_unmap(region, slot, count);
	pmc_region_put_slots(region, slot, count);
}

/* A mapping may have been split, and then has a region for each part in a child. */
static void release_parts(struct file *file, u64 at, u64 end)
{
	while (at < end) {
		struct vm_area_struct *vma = find_part(file, at);
		struct pmc_region *region = vma->vm_private_data;
		u64 part_end = min_t(u64, vma->vm_end, end);

		release_slots(region, linear_page_index(vma, at) - region->first,
			      (part_end - at) >> PAGE_SHIFT);
		at = part_end;
	}
}

/* Pages of the caller's memory are given back. */
int pmc_region_release(struct file *file, const struct pagemill_color_range *range)
{
	struct pmc_space *space = file->private_data;
	u64 at = range->address, end = at + range->bytes;
	int error = -EINTR;

	if (!range->bytes || !PAGE_ALIGNED(range->address | range->bytes) || end < at)
		return -EINVAL;
	if (mmap_read_lock_killable(current->mm))
		return -EINTR;
	if (!is_all_mapped(file, at, end)) {
		error = -EINVAL;
	} else if (!mutex_lock_killable(&space->lock)) {
		release_parts(file, at, end);
		mutex_unlock(&space->lock);
		error = 0;
	}
	mmap_read_unlock(current->mm);
	return error;
}
