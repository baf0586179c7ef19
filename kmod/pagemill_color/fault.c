// SPDX-License-Identifier: GPL-2.0
/*
 * Touches. A slot's frame is handed to the kernel with its lock held, until
 * the page table leads to it; who wants to take the frame away waits for that
 * lock first.
 *
 * A frame of one slot may be written to. One of several slots is mapped for
 * reading; who writes gets a copy. The kernel asks before each first write,
 * since there is a page_mkwrite.
 */
#include <linux/highmem.h>
#include <linux/pagemap.h>

#include "internal.h"

/* Returns when no fault is between taking this frame and mapping it. Below the space's lock, so none begins. */
void pmc_wait_for_faults(struct page *page)
{
	lock_page(page);
	unlock_page(page);
}

static unsigned long slot_of(const struct vm_fault *vmf, const struct pmc_region *region)
{
	return vmf->pgoff - region->first;
}

/* Puts a new frame into a slot. */
static struct pmc_page *fill_slot(struct pmc_region *region, unsigned long slot,
				  struct page *source)
{
	struct pmc_page *entry = pmc_page_deal(region->space);
	int error;

	if (IS_ERR(entry))
		return entry;
	if (source)
		copy_highpage(entry->page, source);
	else
		clear_highpage(entry->page);
	error = xa_err(xa_store(&region->slots, slot, entry, GFP_KERNEL));
	if (!error)
		return entry;
	pmc_page_put(region->space, entry);
	return ERR_PTR(error);
}

/*
 * The slot gets a frame of its own. Another thread may just have mapped the
 * shared one for reading: it would see what others write there from now on.
 */
static struct pmc_page *unshare(struct pmc_region *region, unsigned long slot,
				struct pmc_page *shared)
{
	struct pmc_page *own = fill_slot(region, slot, shared->page);

	if (IS_ERR(own))
		return own;
	pmc_wait_for_faults(shared->page);
	pmc_region_unmap(region, slot, 1);
	pmc_page_put(region->space, shared);
	region->space->counts.cow_copied++;
	return own;
}

/* What a touch of a slot finds. */
static struct pmc_page *touch(struct pmc_region *region, unsigned long slot, bool write)
{
	struct pmc_page *entry = xa_load(&region->slots, slot);

	if (!entry) {
		entry = fill_slot(region, slot, NULL);
		if (!IS_ERR(entry))
			region->space->counts.dealt++;
		return entry;
	}
	if (write && entry->shares > 1)
		return unshare(region, slot, entry);
	if (entry->moves)
		pmc_page_move(region->space, entry);
	return entry;
}

static vm_fault_t failure_of(const struct pmc_page *error)
{
	return PTR_ERR(error) == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
}

vm_fault_t pmc_fault(struct vm_fault *vmf)
{
	struct pmc_region *region = vmf->vma->vm_private_data;
	bool write = vmf->flags & FAULT_FLAG_WRITE;
	vm_fault_t result = VM_FAULT_LOCKED;
	struct pmc_page *entry;

	if (!region)
		return VM_FAULT_SIGBUS;
	mutex_lock(&region->space->lock);
	entry = touch(region, slot_of(vmf, region), write);
	if (IS_ERR(entry)) {
		result = failure_of(entry);
	} else {
		get_page(entry->page);
		lock_page(entry->page);
		vmf->page = entry->page;
	}
	mutex_unlock(&region->space->lock);
	return result;
}

static bool may_write(const struct pmc_page *entry, const struct page *page)
{
	return entry && entry->page == page && entry->shares == 1 && !entry->moves;
}

/*
 * The touch begins again. The slot has its own frame by then: an instruction
 * that reads from the page first, and then writes to it, would never end if
 * only the second touch gave it one.
 */
static vm_fault_t begin_again(struct pmc_region *region, unsigned long slot)
{
	struct pmc_page *entry = xa_load(&region->slots, slot);

	if (entry && entry->shares > 1) {
		entry = unshare(region, slot, entry);
		if (IS_ERR(entry))
			return failure_of(entry);
	}
	pmc_region_unmap(region, slot, 1);
	return VM_FAULT_NOPAGE;
}

/* May this frame be written to? */
vm_fault_t pmc_fault_mkwrite(struct vm_fault *vmf)
{
	struct pmc_region *region = vmf->vma->vm_private_data;
	vm_fault_t result = VM_FAULT_LOCKED;
	unsigned long slot;

	if (!region)
		return VM_FAULT_SIGBUS;
	slot = slot_of(vmf, region);
	mutex_lock(&region->space->lock);
	if (may_write(xa_load(&region->slots, slot), vmf->page)) {
		lock_page(vmf->page);
	} else {
		result = begin_again(region, slot);
	}
	mutex_unlock(&region->space->lock);
	return result;
}
