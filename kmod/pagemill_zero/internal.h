/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the module offer each other. */
#ifndef PAGEMILL_ZERO_INTERNAL_H
#define PAGEMILL_ZERO_INTERNAL_H

#undef pr_fmt
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>

#include "core.h"
#include "kernel.h"

#define PMZ_PIECE_FRAMES (PAGEMILL_ZERO_PIECE_BYTES >> PAGE_SHIFT)

/* arm64 also has huge pages of 64 KiB. They are less than a piece, and left to the kernel. */
static inline bool pmz_is_in_pieces(struct folio *folio)
{
	return folio_nr_pages(folio) >= PMZ_PIECE_FRAMES;
}

/* sysfs.c: what was asked for */
enum pmz_mode {
	PMZ_MODE_PLAIN,
	PMZ_MODE_POOL,
	PMZ_MODE_ON_FREE,
	PMZ_MODE_OFFLOAD_WAIT,
	PMZ_MODE_OFFLOAD_ASYNC,
	PMZ_MODES
};

enum pmz_verify { PMZ_VERIFY_OFF, PMZ_VERIFY_SAMPLE, PMZ_VERIFY_FULL, PMZ_VERIFIES };

extern enum pmz_mode pmz_mode;
extern enum pmz_verify pmz_verify;
extern unsigned int pmz_deadline_us;
extern unsigned int pmz_keep_free;
extern bool pmz_unsafe_async;
extern const struct attribute_group *pmz_attribute_groups[];

/* counters.c */
enum pmz_counter {
	PMZ_FAULTS_CLEAN,   /* nothing to do: the page was clean */
	PMZ_FAULTS_CPU,	    /* cleared by the faulting CPU */
	PMZ_FAULTS_HELPER,  /* cleaned, in whole, by the helper while the fault waited */
	PMZ_FAULTS_ASYNC,   /* returned before the page was clean */
	PMZ_PIECES_POSTED,  /* pieces handed to the helper */
	PMZ_PIECES_CLEANED, /* pieces that came back clean */
	PMZ_TIMEOUTS,	    /* pieces that missed their deadline */
	PMZ_PIECES_RECALLED, /* pieces that came back because the page was needed, or the helper gone */
	PMZ_REFUSED,	     /* pieces said to be clean that were not */
	PMZ_POOL_CLEANED,  /* pages cleaned while free */
	PMZ_FREED_CLEANED, /* pages cleaned when freed */
	PMZ_FREED_DIRTY,   /* pages that went back to the pool as they were */
	PMZ_RECALLS,	   /* times that a process needed what was being cleaned */
	PMZ_HELPERS,	   /* helpers that attached */
	PMZ_COUNTERS
};

DECLARE_PER_CPU(u64[PMZ_COUNTERS], pmz_counts);
#define pmz_count(counter) this_cpu_inc(pmz_counts[counter])

extern const struct attribute_group pmz_counter_group;
extern u64 pmz_handoff_min;
void pmz_note_handoff(u64 ticks);

/* symbols.c: what the kernel does not export */
struct pmz_symbols {
	pmz_clear_fn clear;
	void (*free)(struct folio *folio);
	pmz_reserved (*hugetlb_reserve_pages)(struct inode *inode, long from, long to,
					      struct vm_area_struct *vma, pmz_vma_flags flags);
	struct folio *(*alloc)(struct vm_area_struct *vma, unsigned long address,
			       pmz_avoid_reserve avoid_reserve);
	struct hstate *(*size_to_hstate)(unsigned long bytes);
	spinlock_t *hugetlb_lock;
	struct hstate *hstates;
	int *hugetlb_max_hstate;
};

extern struct pmz_symbols pmz_symbols;
int pmz_symbols_find(void);

/* hook.c: functions of the kernel that go through ours */
struct pmz_hook {
	const char *name;
	struct ftrace_ops ops;
};

int pmz_hook_install(struct pmz_hook *hook);
void pmz_hook_remove(struct pmz_hook *hook);
bool pmz_hook_is_own_call(unsigned long parent_ip);
void pmz_hook_redirect(struct ftrace_regs *fregs, void *function);
void pmz_hook_leave(void);
void pmz_hook_drain(void);

/* mark.c: what is known to be clean */
void pmz_mark_init(void);
void pmz_mark_set(struct folio *folio);
bool pmz_mark_is_set(struct folio *folio);
bool pmz_mark_take(struct folio *folio);
void pmz_mark_drop(struct folio *folio);
void pmz_mark_drop_all(void);

/* fault.c, freed.c, shortage.c */
extern struct pmz_hook pmz_fault_hook;
extern struct pmz_hook pmz_reserve_hook;
extern struct pmz_hook pmz_alloc_hook;
extern struct pmz_hook pmz_freed_hook;
void pmz_clear_piece(unsigned long pfn);
bool pmz_piece_is_clean(unsigned long pfn);

/* offload.c */
bool pmz_offload_wait(struct folio *folio);
void pmz_offload_async(struct folio *folio);

/* pool.c */
int pmz_pool_init(void);
void pmz_pool_exit(void);
void pmz_pool_kick(void);
unsigned int pmz_pool_run(void);
void pmz_pool_recall(void);
void pmz_pool_go_on(void);
bool pmz_pool_is_active(void);
bool pmz_pool_is_possible(void);

/* window.c: the ring, and the frames that the helper can see */
int pmz_window_init(void);
void pmz_window_exit(void);
int pmz_window_attach(struct file *file);
void pmz_window_detach(void);
int pmz_window_mmap(struct file *file, struct vm_area_struct *vma);
__poll_t pmz_window_poll(struct file *file, poll_table *wait);
int pmz_window_post(unsigned long pfn, enum pmz_owner owner, unsigned int job);
bool pmz_window_is_done(unsigned int index);
bool pmz_window_take_back(unsigned int index, bool *clean);
bool pmz_window_reap(bool everything, u64 deadline_ns, struct pmz_slot *slot, bool *clean);
bool pmz_window_is_usable(void);
bool pmz_window_is_helper(void);
bool pmz_window_may_post(void);
void pmz_window_missed(void);
void pmz_window_alive(void);

/* device.c */
int pmz_device_init(void);
void pmz_device_exit(void);

#endif
