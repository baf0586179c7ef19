// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/class/misc/pagemill_color/self_test: reading it tests the module on the
 * memory of this machine, and says "ok" or what is wrong.
 */
#include <linux/device.h>
#include <linux/highmem.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "internal.h"

#define FRAMES_EACH 3
#define DEALS	    1000

/* Frames of every color can be had, have it, are all different, and can be written. */
static const char *test_stock_color(u32 color)
{
	struct page *frames[FRAMES_EACH] = { NULL };
	const char *wrong = NULL;
	int i;

	for (i = 0; i < FRAMES_EACH && !wrong; i++) {
		if (!pmc_stock_refill(color))
			break;
		frames[i] = pmc_stock_take(color);
		if (!frames[i])
			break;
		if (pmc_page_color(frames[i]) != color)
			wrong = "a frame has another color than its list";
		else if (page_count(frames[i]) != 1 || frames[i]->mapping)
			wrong = "a free frame is in use";
		else
			*(u32 *)page_address(frames[i]) = i;
	}
	if (!wrong && !frames[0])
		wrong = "a color has no frame: memory is short";
	while (i--) {
		if (!frames[i])
			continue;
		if (!wrong && *(u32 *)page_address(frames[i]) != i)
			wrong = "two frames are one";
		pmc_stock_put(frames[i]);
	}
	return wrong;
}

static const char *test_stock(void)
{
	const char *wrong = NULL;
	u32 color;

	for (color = 0; color < pmc_colors && !wrong; color++)
		wrong = test_stock_color(color);
	return wrong;
}

static const char *test_dealing(struct pmc_dealer *dealer, const struct pagemill_color_set *set)
{
	u32 least = U32_MAX, most = 0, color;
	int i;

	pmc_dealer_init(dealer, pmc_colors, set);
	for (i = 0; i < DEALS; i++) {
		int next = pmc_dealer_next(dealer, NULL);

		if (next == PMC_NO_COLOR || !pmc_set_has(set, next))
			return "a color outside the set is dealt";
		if (next == dealer->last && pmc_set_count(set) > 1)
			return "a color is dealt twice in a row";
		pmc_dealer_take(dealer, next);
	}
	for (color = 0; color < pmc_colors; color++) {
		if (!pmc_set_has(set, color))
			continue;
		least = min(least, dealer->pages[color]);
		most = max(most, dealer->pages[color]);
	}
	return most - least > 1 ? "dealing is uneven" : NULL;
}

/* Every page stays whose color has room, and the map is even in the end. */
static const char *test_plan(const struct pmc_dealer *dealer, struct pmc_plan *plan,
			     const struct pagemill_color_set *set)
{
	u64 moved = 0, stay = 0;
	u32 color, page;

	pmc_plan_init(plan, pmc_colors, set, dealer->pages);
	for (color = 0; color < pmc_colors; color++) {
		stay += plan->keep[color];
		for (page = 0; page < dealer->pages[color]; page++)
			moved += pmc_plan_next(plan, color) != color;
	}
	if (moved + stay != DEALS)
		return "a plan moves pages that could stay";
	for (color = 0; color < pmc_colors; color++)
		if (plan->keep[color] || plan->room[color])
			return "a plan is uneven";
	return NULL;
}

static const char *test_random_sets(struct pmc_dealer *dealer, struct pmc_plan *plan)
{
	struct pagemill_color_set sets[2];
	const char *wrong;
	u32 color;
	int i;

	for (i = 0; i < 2; i++) {
		memset(&sets[i], 0, sizeof(sets[i]));
		pmc_set_add(&sets[i], get_random_u32() & (pmc_colors - 1));
		for (color = 0; color < pmc_colors; color++)
			if (get_random_u32() & 1)
				pmc_set_add(&sets[i], color);
	}
	wrong = test_dealing(dealer, &sets[0]);
	return wrong ?: test_plan(dealer, plan, &sets[1]);
}

/* A mapping that the kernel could not split is closed empty, at slot 0: no slot of its region may go with it. */
static const char *test_empty_ranges(void)
{
	struct pmc_region *region = kzalloc(sizeof(*region), GFP_KERNEL);
	/* Held a second time, so that what gives it back does not free it. */
	struct pmc_page entry = { .shares = 2 };
	const char *wrong = "memory is short";

	if (!region)
		return wrong;
	xa_init(&region->slots);
	if (!xa_err(xa_store(&region->slots, 0, &entry, GFP_KERNEL))) {
		pmc_region_put_slots(region, 0, 0);
		pmc_region_put_slots(region, 1, 1);
		wrong = xa_load(&region->slots, 0) ? NULL : "an empty range gives slots back";
		pmc_region_put_slots(region, 0, 1);
		if (!wrong && (xa_load(&region->slots, 0) || entry.shares != 1))
			wrong = "a slot is not given back";
	}
	xa_destroy(&region->slots);
	kfree(region);
	return wrong;
}

static const char *test_all(void)
{
	struct pmc_dealer *dealer = kvmalloc(sizeof(*dealer), GFP_KERNEL);
	struct pmc_plan *plan = kvmalloc(sizeof(*plan), GFP_KERNEL);
	const char *wrong = "memory is short";

	if (dealer && plan)
		wrong = test_empty_ranges() ?: test_stock() ?: test_random_sets(dealer, plan);
	kvfree(plan);
	kvfree(dealer);
	return wrong;
}

static ssize_t self_test_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", test_all() ?: "ok");
}
static DEVICE_ATTR_ADMIN_RO(self_test);

static struct attribute *attributes[] = {
	&dev_attr_self_test.attr,
	NULL,
};

static const struct attribute_group group = { .attrs = attributes };

const struct attribute_group *pmc_attribute_groups[] = {
	&group,
	NULL,
};
