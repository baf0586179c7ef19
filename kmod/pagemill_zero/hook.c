// SPDX-License-Identifier: GPL-2.0
/* Sending calls of kernel functions through functions of ours, by ftrace. */
#include <linux/delay.h>
#include <linux/rcupdate.h>

#include "internal.h"

/* Calls of ours that may sleep. Text must not go while one of them does. */
static atomic_t inside = ATOMIC_INIT(0);

int pmz_hook_install(struct pmz_hook *hook)
{
	int error;

	/* A pause of ftrace would let pages come back unseen: not allowed. */
	hook->ops.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT | PMZ_HOOK_REGISTERS;
	error = ftrace_set_filter(&hook->ops, (unsigned char *)hook->name, strlen(hook->name), 1);
	if (error) {
		pr_err("%s cannot be traced (%d)\n", hook->name, error);
		return error;
	}
	error = register_ftrace_function(&hook->ops);
	if (error) {
		pr_err("%s cannot be hooked (%d): is it livepatched?\n", hook->name, error);
		ftrace_free_filter(&hook->ops);
	}
	return error;
}

void pmz_hook_remove(struct pmz_hook *hook)
{
	unregister_ftrace_function(&hook->ops);
	ftrace_free_filter(&hook->ops);
}

/* A call by this module is meant for the kernel's own function. */
bool pmz_hook_is_own_call(unsigned long parent_ip)
{
	return within_module(parent_ip, THIS_MODULE);
}

/* The hooked function's caller gets `function`, which ends with pmz_hook_leave. */
void pmz_hook_redirect(struct ftrace_regs *fregs, void *function)
{
	atomic_inc(&inside);
	ftrace_regs_set_instruction_pointer(fregs, (unsigned long)function);
}

void pmz_hook_leave(void)
{
	atomic_dec(&inside);
}

/*
 * Waits until no CPU runs code of this module because of a hook. All hooks are
 * removed. Between pmz_hook_leave and the caller nothing sleeps, which is what
 * RCU tasks waits for.
 */
void pmz_hook_drain(void)
{
	while (atomic_read(&inside))
		msleep(20);
	synchronize_rcu_tasks();
}
