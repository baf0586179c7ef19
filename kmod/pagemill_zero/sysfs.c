// SPDX-License-Identifier: GPL-2.0
/* What was asked for: /sys/class/misc/pagemill_zero/. */
#include <linux/device.h>

#include "internal.h"

enum pmz_mode pmz_mode = PMZ_MODE_PLAIN;
enum pmz_verify pmz_verify = PMZ_VERIFY_SAMPLE;
unsigned int pmz_deadline_us = 10000;
unsigned int pmz_keep_free;

static const char *const modes[PMZ_MODES] = {
	[PMZ_MODE_PLAIN] = "plain",
	[PMZ_MODE_POOL] = "pool",
	[PMZ_MODE_ON_FREE] = "on-free",
	[PMZ_MODE_OFFLOAD_WAIT] = "offload-wait",
	[PMZ_MODE_OFFLOAD_ASYNC] = "offload-async",
};

static const char *const verifies[PMZ_VERIFIES] = {
	[PMZ_VERIFY_OFF] = "off",
	[PMZ_VERIFY_SAMPLE] = "sample",
	[PMZ_VERIFY_FULL] = "full",
};

static ssize_t mode_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", modes[READ_ONCE(pmz_mode)]);
}

static ssize_t mode_store(struct device *dev, struct device_attribute *attr, const char *buf,
			  size_t length)
{
	int mode = sysfs_match_string(modes, buf);

	if (mode < 0)
		return mode;
	if (mode == PMZ_MODE_OFFLOAD_ASYNC && !pmz_unsafe_async) {
		pr_warn("offload-async leaks and loses data: load with unsafe_async=1 to allow it\n");
		return -EPERM;
	}
	if (mode == PMZ_MODE_POOL && !pmz_pool_is_possible())
		return -EOPNOTSUPP;
	WRITE_ONCE(pmz_mode, mode);
	pmz_pool_kick();
	return length;
}
static DEVICE_ATTR_RW(mode);

static ssize_t verify_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", verifies[READ_ONCE(pmz_verify)]);
}

static ssize_t verify_store(struct device *dev, struct device_attribute *attr, const char *buf,
			    size_t length)
{
	int verify = sysfs_match_string(verifies, buf);

	if (verify < 0)
		return verify;
	WRITE_ONCE(pmz_verify, verify);
	return length;
}
static DEVICE_ATTR_RW(verify);

static ssize_t store_number(const char *buf, size_t length, unsigned int most, unsigned int *number)
{
	unsigned int asked;
	int error = kstrtouint(buf, 0, &asked);

	if (error)
		return error;
	if (asked > most)
		return -ERANGE;
	WRITE_ONCE(*number, asked);
	return length;
}

static ssize_t deadline_us_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(pmz_deadline_us));
}

/* A fault holds locks while it waits: ten seconds are the most. */
static ssize_t deadline_us_store(struct device *dev, struct device_attribute *attr, const char *buf,
				 size_t length)
{
	return store_number(buf, length, 10 * USEC_PER_SEC, &pmz_deadline_us);
}
static DEVICE_ATTR_RW(deadline_us);

static ssize_t keep_free_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(pmz_keep_free));
}

static ssize_t keep_free_store(struct device *dev, struct device_attribute *attr, const char *buf,
			       size_t length)
{
	return store_number(buf, length, UINT_MAX, &pmz_keep_free);
}
static DEVICE_ATTR_RW(keep_free);

/* Ticks of the time stamp counter; 0 until there was one. */
static ssize_t handoff_ticks_min_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	u64 ticks = READ_ONCE(pmz_handoff_min);

	return sysfs_emit(buf, "%llu\n", ticks == U64_MAX ? 0 : ticks);
}
static DEVICE_ATTR_RO(handoff_ticks_min);

static struct attribute *attributes[] = {
	&dev_attr_mode.attr,
	&dev_attr_verify.attr,
	&dev_attr_deadline_us.attr,
	&dev_attr_keep_free.attr,
	&dev_attr_handoff_ticks_min.attr,
	NULL,
};

static const struct attribute_group group = { .attrs = attributes };

const struct attribute_group *pmz_attribute_groups[] = {
	&group,
	&pmz_counter_group,
	NULL,
};
