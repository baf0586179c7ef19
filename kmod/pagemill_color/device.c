// SPDX-License-Identifier: GPL-2.0
/* /dev/pagemill_color. Who may open it is up to the file's mode. */
#include <linux/capability.h>
#include <linux/miscdevice.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "internal.h"

static int device_open(struct inode *inode, struct file *file)
{
	file->private_data = pmc_space_open();
	return file->private_data ? 0 : -ENOMEM;
}

static int device_release(struct inode *inode, struct file *file)
{
	pmc_space_close(file->private_data);
	return 0;
}

static int get_info(const struct pmc_space *space, void __user *to)
{
	struct pagemill_color_info info = {
		.version = PAGEMILL_COLOR_VERSION,
		.colors = pmc_colors,
		.cache_bytes = pmc_cache_bytes,
		.ways = pmc_ways,
		.line_bytes = pmc_line_bytes,
		.page_bytes = PAGE_SIZE,
		.space = space->number,
	};

	return copy_to_user(to, &info, sizeof(info)) ? -EFAULT : 0;
}

static int set_colors(struct pmc_space *space, const void __user *from)
{
	struct pagemill_color_choice choice;

	if (copy_from_user(&choice, from, sizeof(choice)))
		return -EFAULT;
	return pmc_space_set(space, &choice);
}

static int recolor_pages(struct pmc_space *space, void __user *at)
{
	struct pagemill_color_recolor recolor;
	int error;

	if (copy_from_user(&recolor, at, sizeof(recolor)))
		return -EFAULT;
	error = pmc_recolor(space, &recolor);
	if (!error && copy_to_user(at, &recolor, sizeof(recolor)))
		error = -EFAULT;
	return error;
}

static int release_range(struct file *file, const void __user *from)
{
	struct pagemill_color_range range;

	if (copy_from_user(&range, from, sizeof(range)))
		return -EFAULT;
	return pmc_region_release(file, &range);
}

/* As many numbers as fit. */
static int put_by_color(const u64 *by_color, u64 to, u32 capacity)
{
	u32 count = min(capacity, pmc_colors);

	if (!to)
		return 0;
	return copy_to_user(u64_to_user_ptr(to), by_color, count * sizeof(*by_color)) ? -EFAULT : 0;
}

static int report_space(struct pmc_space *space, void __user *at)
{
	struct pagemill_color_report report;
	u64 *by_color;
	int error;

	if (copy_from_user(&report, at, sizeof(report)))
		return -EFAULT;
	if (report.reserved)
		return -EINVAL;
	by_color = kvcalloc(pmc_colors, sizeof(*by_color), GFP_KERNEL);
	if (!by_color)
		return -ENOMEM;
	error = pmc_space_report(space, &report, by_color);
	if (!error)
		error = put_by_color(by_color, report.frames_by_color, report.frames_capacity);
	if (!error && copy_to_user(at, &report, sizeof(report)))
		error = -EFAULT;
	kvfree(by_color);
	return error;
}

static int report_stock(struct pagemill_color_stock *stock, void __user *to)
{
	u64 *by_color = kvcalloc(pmc_colors, sizeof(*by_color), GFP_KERNEL);
	int error;

	if (!by_color)
		return -ENOMEM;
	pmc_stock_report(stock, by_color);
	stock->spaces = pmc_space_opened();
	error = put_by_color(by_color, stock->stocked_by_color, stock->stocked_capacity);
	if (!error && copy_to_user(to, stock, sizeof(*stock)))
		error = -EFAULT;
	kvfree(by_color);
	return error;
}

static int tell_or_set_stock(void __user *at, bool set)
{
	struct pagemill_color_stock stock;
	int error;

	if (set && !capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (copy_from_user(&stock, at, sizeof(stock)))
		return -EFAULT;
	if (stock.reserved || (set && stock.stocked_pages > stock.limit_pages))
		return -EINVAL;
	if (set) {
		error = pmc_stock_set(stock.limit_pages, stock.keep_pages, stock.stocked_pages);
		if (error)
			return error;
	}
	return report_stock(&stock, at);
}

static long device_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct pmc_space *space = file->private_data;
	void __user *at = (void __user *)argument;

	switch (command) {
	case PAGEMILL_COLOR_IOC_INFO:
		return get_info(space, at);
	case PAGEMILL_COLOR_IOC_SET:
		return set_colors(space, at);
	case PAGEMILL_COLOR_IOC_RECOLOR:
		return recolor_pages(space, at);
	case PAGEMILL_COLOR_IOC_RELEASE:
		return release_range(file, at);
	case PAGEMILL_COLOR_IOC_REPORT:
		return report_space(space, at);
	case PAGEMILL_COLOR_IOC_STOCK:
		return tell_or_set_stock(at, false);
	case PAGEMILL_COLOR_IOC_SET_STOCK:
		return tell_or_set_stock(at, true);
	}
	return -ENOTTY;
}

static const struct file_operations device_operations = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.mmap = pmc_region_mmap,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = PAGEMILL_COLOR_DEVICE,
	.fops = &device_operations,
	.groups = pmc_attribute_groups,
	.mode = 0600,
};

int pmc_device_init(void)
{
	return misc_register(&device);
}

void pmc_device_exit(void)
{
	misc_deregister(&device);
}
