// SPDX-License-Identifier: GPL-2.0
/* /dev/pagemill_zero: the helper's way in. */
#include <linux/capability.h>
#include <linux/miscdevice.h>

#include "internal.h"

static int device_open(struct inode *inode, struct file *file)
{
	int error;

	/* The helper sees the frames that it cleans. */
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	error = pmz_window_attach(file);
	if (!error)
		pmz_pool_kick();
	return error;
}

static int device_release(struct inode *inode, struct file *file)
{
	pmz_window_detach();
	return 0;
}

static long device_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	if (command != PAGEMILL_ZERO_IOC_REAP)
		return -ENOTTY;
	pmz_window_alive();
	return pmz_pool_run();
}

static const struct file_operations device_operations = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.mmap = pmz_window_mmap,
	.poll = pmz_window_poll,
	.unlocked_ioctl = device_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = PAGEMILL_ZERO_DEVICE,
	.fops = &device_operations,
	.groups = pmz_attribute_groups,
	.mode = 0600,
};

int pmz_device_init(void)
{
	return misc_register(&device);
}

void pmz_device_exit(void)
{
	misc_deregister(&device);
}
