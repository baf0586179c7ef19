// SPDX-License-Identifier: GPL-2.0
/* What happened how often: /sys/class/misc/pagemill_zero/counters/. */
#include <linux/device.h>
#include <linux/percpu.h>

#include "internal.h"

DEFINE_PER_CPU(u64[PMZ_COUNTERS], pmz_counts);

/* The fewest ticks of the time stamp counter that a hand-off took. */
u64 pmz_handoff_min = U64_MAX;

void pmz_note_handoff(u64 ticks)
{
	if (ticks < READ_ONCE(pmz_handoff_min))
		WRITE_ONCE(pmz_handoff_min, ticks);
}

static ssize_t counter_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct dev_ext_attribute *counter = container_of(attr, struct dev_ext_attribute, attr);
	unsigned long which = (unsigned long)counter->var;
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(pmz_counts, cpu)[which];
	return sysfs_emit(buf, "%llu\n", sum);
}

#define COUNTER(name, which)                                                                       \
	static struct dev_ext_attribute counter_##name = { __ATTR(name, 0444, counter_show, NULL), \
							   (void *)(which) }

COUNTER(faults_clean, PMZ_FAULTS_CLEAN);
COUNTER(faults_cpu, PMZ_FAULTS_CPU);
COUNTER(faults_helper, PMZ_FAULTS_HELPER);
COUNTER(faults_async, PMZ_FAULTS_ASYNC);
COUNTER(posted, PMZ_PIECES_POSTED);
COUNTER(cleaned, PMZ_PIECES_CLEANED);
COUNTER(timeouts, PMZ_TIMEOUTS);
COUNTER(recalled, PMZ_PIECES_RECALLED);
COUNTER(refused, PMZ_REFUSED);
COUNTER(pool_cleaned, PMZ_POOL_CLEANED);
COUNTER(freed_cleaned, PMZ_FREED_CLEANED);
COUNTER(freed_dirty, PMZ_FREED_DIRTY);
COUNTER(recalls, PMZ_RECALLS);
COUNTER(helpers, PMZ_HELPERS);

static struct attribute *counter_attributes[] = {
	&counter_faults_clean.attr.attr,
	&counter_faults_cpu.attr.attr,
	&counter_faults_helper.attr.attr,
	&counter_faults_async.attr.attr,
	&counter_posted.attr.attr,
	&counter_cleaned.attr.attr,
	&counter_timeouts.attr.attr,
	&counter_recalled.attr.attr,
	&counter_refused.attr.attr,
	&counter_pool_cleaned.attr.attr,
	&counter_freed_cleaned.attr.attr,
	&counter_freed_dirty.attr.attr,
	&counter_recalls.attr.attr,
	&counter_helpers.attr.attr,
	NULL,
};

const struct attribute_group pmz_counter_group = {
	.name = "counters",
	.attrs = counter_attributes,
};
