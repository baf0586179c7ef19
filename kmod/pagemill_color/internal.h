/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the module offer each other. */
#ifndef PAGEMILL_COLOR_INTERNAL_H
#define PAGEMILL_COLOR_INTERNAL_H

#undef pr_fmt
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/xarray.h>

#include "core.h"

/* main.c: the palette */
extern u32 pmc_colors;
extern unsigned long pmc_cache_bytes;
extern unsigned int pmc_ways;
extern unsigned int pmc_line_bytes;
extern unsigned int pmc_space_percent;

static inline u32 pmc_page_color(const struct page *page)
{
	return pmc_color_of(page_to_pfn(page), pmc_colors);
}

/* stock.c: free frames by color */
int pmc_stock_init(u64 limit_mib, u64 keep_mib);
void pmc_stock_exit(void);
struct page *pmc_stock_take(u32 color);
struct page *pmc_stock_take_any(void);
bool pmc_stock_allows(u64 space_pages);
void pmc_stock_put(struct page *page);
bool pmc_stock_refill(u32 color);
void pmc_stock_available(struct pagemill_color_set *set);
void pmc_stock_report(struct pagemill_color_stock *stock, u64 *by_color);
int pmc_stock_set(u64 limit_pages, u64 keep_pages, u64 wanted_pages);

/* What happened in a space: fields of struct pagemill_color_report. */
struct pmc_counts {
	u64 pages;
	u64 dealt;
	u64 copied;
	u64 cow_copied;
	u64 pinned;
	u64 strays;
	u64 other_colors;
	u64 failures;
	u64 recolors;
	u64 flushes;
};

/*
 * An open file. Lock order: mmap_lock, then the space's lock, then the lock of
 * a page, then what the kernel takes to change page tables.
 */
struct pmc_space {
	struct mutex lock;	/* everything below, and all of its regions and frames */
	struct list_head pages; /* struct pmc_page, in the order of dealing */
	struct list_head regions;
	struct pmc_dealer dealer;
	struct pmc_counts counts;
	u32 rule;
	u32 number;
};

struct pmc_space *pmc_space_open(void);
void pmc_space_close(struct pmc_space *space);
u64 pmc_space_opened(void);
int pmc_space_set(struct pmc_space *space, const struct pagemill_color_choice *choice);
int pmc_space_report(struct pmc_space *space, struct pagemill_color_report *report, u64 *by_color);
bool pmc_choice_is_valid(const struct pagemill_color_choice *choice);

/* page.c: a frame with content, of one slot or, after fork, of several */
struct pmc_page {
	struct list_head node; /* in the space */
	struct page *page;
	u32 shares; /* slots that lead here */
	u16 target; /* the color that it counts as */
	bool moves; /* is to be copied to its target by the next touch */
};

int pmc_pages_init(void);
void pmc_pages_exit(void);
struct pmc_page *pmc_page_deal(struct pmc_space *space);
void pmc_page_put(struct pmc_space *space, struct pmc_page *entry);
void pmc_page_move(struct pmc_space *space, struct pmc_page *entry);

/*
 * What one mmap(2) made, in one process: slot i is the page at page offset
 * `first` + i. A child of fork has regions of its own, at the same offsets.
 */
struct pmc_region {
	struct list_head node; /* in the space */
	struct pmc_space *space;
	struct mm_struct *mm; /* compared, never used */
	struct address_space *mapping;
	struct xarray slots; /* struct pmc_page */
	unsigned long start; /* address of slot 0 */
	pgoff_t first;
	unsigned long count; /* slots */
	unsigned int vmas;
};

int pmc_region_mmap(struct file *file, struct vm_area_struct *vma);
int pmc_region_release(struct file *file, const struct pagemill_color_range *range);
void pmc_region_unmap(struct pmc_region *region, unsigned long slot, unsigned long count);
void pmc_region_put_slots(struct pmc_region *region, unsigned long slot, unsigned long count);

/* fault.c: touches */
vm_fault_t pmc_fault(struct vm_fault *vmf);
vm_fault_t pmc_fault_mkwrite(struct vm_fault *vmf);
void pmc_wait_for_faults(struct page *page);

/* recolor.c */
int pmc_recolor(struct pmc_space *space, struct pagemill_color_recolor *recolor);

/* observe.c: reports to an emulator whose frame it is */
extern bool pmc_observe;
void pmc_observe_owner(struct page *page, u32 space);

/* selftest.c */
extern const struct attribute_group *pmc_attribute_groups[];

/* device.c */
int pmc_device_init(void);
void pmc_device_exit(void);

#endif
