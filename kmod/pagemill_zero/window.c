// SPDX-License-Identifier: GPL-2.0
/*
 * The ring, and the window through which the helper sees frames.
 *
 * A frame can be touched through the window only while its entry is posted.
 * Taking an entry back first forbids new mappings, then removes the one there
 * is, on all CPUs. Only then does the module look at the content or hand the page
 * on; a helper that is late gets SIGBUS.
 *
 * Lock order: window_lock, then ring_lock.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/sched/mm.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>

#include "internal.h"

#define WINDOW_PGOFF (PAGEMILL_ZERO_WINDOW_OFFSET >> PAGE_SHIFT)

static struct pmz_core core;
static DEFINE_SPINLOCK(ring_lock); /* core */
static DEFINE_MUTEX(window_lock);  /* what is mapped */
static DECLARE_WAIT_QUEUE_HEAD(helper_wait);
static struct inode *helper_inode;  /* its mapping is the window's */
static struct mm_struct *helper_mm; /* compared, never used */

int pmz_window_init(void)
{
	struct pagemill_zero_ring *ring;

	BUILD_BUG_ON(sizeof(*ring) > PAGEMILL_ZERO_RING_BYTES);
	ring = vmalloc_user(PAGEMILL_ZERO_RING_BYTES);
	if (!ring)
		return -ENOMEM;
	pmz_core_init(&core, ring);
	return 0;
}

void pmz_window_exit(void)
{
	vfree(core.ring);
}

/* One helper at a time. */
int pmz_window_attach(struct file *file)
{
	int error = 0;

	spin_lock(&ring_lock);
	if (helper_inode) {
		error = -EBUSY;
	} else {
		helper_inode = file_inode(file);
		helper_mm = current->mm;
		pmz_core_attach(&core);
	}
	spin_unlock(&ring_lock);
	if (error)
		return error;
	ihold(helper_inode);
	mmgrab(helper_mm);
	pmz_count(PMZ_HELPERS);
	return 0;
}

static bool is_idle(void)
{
	bool idle = true;
	unsigned int i;

	spin_lock(&ring_lock);
	for (i = 0; i < PAGEMILL_ZERO_ENTRIES; i++)
		idle &= core.slot[i].state == PMZ_FREE;
	spin_unlock(&ring_lock);
	return idle;
}

/* The helper is gone, and so are its mappings. Returns when all is taken back. */
void pmz_window_detach(void)
{
	struct inode *inode;

	spin_lock(&ring_lock);
	pmz_core_detach(&core);
	spin_unlock(&ring_lock);
	pmz_pool_recall();
	pmz_pool_go_on();
	/* Faults that wait notice by themselves. */
	while (!is_idle())
		usleep_range(50, 100);
	mmdrop(helper_mm);
	spin_lock(&ring_lock);
	inode = helper_inode;
	helper_mm = NULL;
	helper_inode = NULL;
	spin_unlock(&ring_lock);
	iput(inode);
}

bool pmz_window_is_helper(void)
{
	return current->mm && current->mm == READ_ONCE(helper_mm);
}

/* A hint, as is the next. */
bool pmz_window_is_usable(void)
{
	return pmz_core_is_usable(&core);
}

/* The post itself decides. */
bool pmz_window_may_post(void)
{
	return pmz_core_may_post(&core);
}

void pmz_window_missed(void)
{
	spin_lock(&ring_lock);
	pmz_core_missed(&core);
	spin_unlock(&ring_lock);
}

void pmz_window_alive(void)
{
	spin_lock(&ring_lock);
	pmz_core_alive(&core);
	spin_unlock(&ring_lock);
}

/* Hands a piece to the helper. Its entry, or -EAGAIN. */
int pmz_window_post(unsigned long pfn, enum pmz_owner owner, unsigned int job)
{
	u64 now_ns = ktime_get_ns();
	int index;

	spin_lock(&ring_lock);
	index = pmz_core_post(&core, pfn, owner, job, now_ns);
	spin_unlock(&ring_lock);
	if (index < 0)
		return index;
	pmz_count(PMZ_PIECES_POSTED);
	/* Pairs with the helper's: sleeping is set, then the head is read. */
	smp_mb();
	if (READ_ONCE(core.ring->sleeping))
		wake_up_interruptible(&helper_wait);
	return index;
}

/* Whether there is nothing to wait for: it is done, or never will be. */
bool pmz_window_is_done(unsigned int index)
{
	return pmz_core_is_done(&core, index) || !READ_ONCE(core.attached);
}

/* A piece that was called back is no failure of the helper. */
static void judge(bool done, bool clean, bool called_back)
{
	if (clean) {
		pmz_count(PMZ_PIECES_CLEANED);
		pmz_window_alive();
	} else if (!done && (called_back || !READ_ONCE(core.attached))) {
		pmz_count(PMZ_PIECES_RECALLED);
	} else {
		pmz_count(done ? PMZ_REFUSED : PMZ_TIMEOUTS);
		pmz_window_missed();
	}
}

/* The piece is not mapped any more; then its content is judged. */
static bool close_entry(unsigned int index, unsigned long pfn, bool called_back)
{
	bool done, clean;

	mutex_lock(&window_lock);
	unmap_mapping_range(helper_inode->i_mapping,
			    PAGEMILL_ZERO_WINDOW_OFFSET + index * PAGEMILL_ZERO_PIECE_BYTES,
			    PAGEMILL_ZERO_PIECE_BYTES, 1);
	mutex_unlock(&window_lock);
	done = pmz_core_is_done(&core, index);
	clean = done && pmz_piece_is_clean(pfn);
	judge(done, clean, called_back);
	spin_lock(&ring_lock);
	pmz_core_end_leave(&core, index);
	spin_unlock(&ring_lock);
	return clean;
}

/* For who posted it. False if it had been taken back already. */
bool pmz_window_take_back(unsigned int index, bool *clean)
{
	unsigned long pfn;
	bool ours;

	spin_lock(&ring_lock);
	pfn = core.slot[index].pfn;
	ours = pmz_core_begin_leave(&core, index);
	spin_unlock(&ring_lock);
	*clean = ours && close_entry(index, pfn, false);
	return ours;
}

static bool pick(bool everything, u64 deadline_ns, struct pmz_slot *slot, unsigned int *index)
{
	u64 now_ns = ktime_get_ns();
	unsigned int i;

	for (i = 0; i < PAGEMILL_ZERO_ENTRIES; i++) {
		if (core.slot[i].state != PMZ_POSTED || core.slot[i].owner == PMZ_WAITER)
			continue;
		if (!everything && !pmz_core_is_done(&core, i) &&
		    !pmz_core_is_due(&core, i, now_ns, deadline_ns))
			continue;
		*slot = core.slot[i];
		*index = i;
		return pmz_core_begin_leave(&core, i);
	}
	return false;
}

/*
 * Takes back one piece without a waiter: done, overdue, or any if
 * `everything`. False if there is none.
 */
bool pmz_window_reap(bool everything, u64 deadline_ns, struct pmz_slot *slot, bool *clean)
{
	unsigned int index;
	bool found;

	spin_lock(&ring_lock);
	found = pick(everything, deadline_ns, slot, &index);
	spin_unlock(&ring_lock);
	if (found)
		*clean = close_entry(index, slot->pfn, everything);
	return found;
}

__poll_t pmz_window_poll(struct file *file, poll_table *wait)
{
	bool has_work;

	poll_wait(file, &helper_wait, wait);
	spin_lock(&ring_lock);
	has_work = pmz_core_has_work(&core);
	spin_unlock(&ring_lock);
	return has_work ? EPOLLIN | EPOLLRDNORM : 0;
}

/* The piece at a page of the window, and whether it can be touched. */
static bool piece_at(pgoff_t pgoff, unsigned long *pfn)
{
	unsigned long index = (pgoff - WINDOW_PGOFF) / PMZ_PIECE_FRAMES;
	bool posted;

	spin_lock(&ring_lock);
	posted = pmz_core_window_pfn(&core, index, pfn);
	spin_unlock(&ring_lock);
	return posted;
}

static vm_fault_t window_fault(struct vm_fault *vmf)
{
	unsigned long offset = (vmf->pgoff - WINDOW_PGOFF) % PMZ_PIECE_FRAMES;
	vm_fault_t result = VM_FAULT_SIGBUS;
	unsigned long pfn;

	mutex_lock(&window_lock);
	if (piece_at(vmf->pgoff, &pfn))
		result = vmf_insert_pfn(vmf->vma, vmf->address, pfn + offset);
	mutex_unlock(&window_lock);
	return result;
}

/* The whole piece at once, where the helper mapped the window so that it fits. */
static vm_fault_t window_huge_fault(struct vm_fault *vmf, pmz_fault_size size)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long start = vmf->address & PMD_MASK;
	vm_fault_t result = VM_FAULT_SIGBUS;
	unsigned long pfn;

	if (size != PMZ_FAULT_SIZE_PMD || start < vma->vm_start || start + PMD_SIZE > vma->vm_end ||
	    linear_page_index(vma, start) % PMZ_PIECE_FRAMES)
		return VM_FAULT_FALLBACK;
	mutex_lock(&window_lock);
	if (piece_at(vmf->pgoff, &pfn))
		result = vmf_insert_pfn_pmd(vmf, pmz_pfn_to_map(pfn), true);
	mutex_unlock(&window_lock);
	return result;
}

static const struct vm_operations_struct window_ops = {
	.fault = window_fault,
	.huge_fault = window_huge_fault,
};

static int map_window(struct vm_area_struct *vma)
{
	unsigned long first = vma->vm_pgoff - WINDOW_PGOFF;
	unsigned long most = PAGEMILL_ZERO_WINDOW_BYTES >> PAGE_SHIFT;

	if (vma->vm_pgoff < WINDOW_PGOFF || first >= most || vma_pages(vma) > most - first)
		return -EINVAL;
	/* Children of the helper do not get it, and nothing pins it. */
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &window_ops;
	return 0;
}

int pmz_window_mmap(struct file *file, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_SHARED) || (vma->vm_flags & VM_EXEC))
		return -EINVAL;
	vm_flags_clear(vma, VM_MAYEXEC);
	if (vma->vm_pgoff)
		return map_window(vma);
	if (vma->vm_end - vma->vm_start != PAGEMILL_ZERO_RING_BYTES)
		return -EINVAL;
	return remap_vmalloc_range(vma, core.ring, 0);
}
