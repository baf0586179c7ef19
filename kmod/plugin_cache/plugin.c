// SPDX-License-Identifier: GPL-2.0
/*
 * A QEMU plugin that watches every data access of the emulated machine by its
 * guest-physical address. Messages of the guest: uapi/pagemill_observe.h.
 * In QEMU's user mode it watches all references of the program, by their
 * addresses, from its start to its end; not those of its children.
 *
 *   -plugin plugin_cache.so,out=FILE[,trace=FILE][,trace_misses=FILE][,l1=BYTES:WAYS][,l2=BYTES:WAYS][,line=BYTES]
 *
 * `out` gets lines `value NAME NUMBER UNIT`. Between BEGIN and END, `trace`
 * gets the references to frames that have an owner, by programs; instead,
 * `trace_misses` gets the lines of such frames that are not in the first
 * cache, whichever task makes them: what reaches the shared one.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "pagemill_observe.h"
#include "qemu_plugin.h"
#include "trace.h"

#define NAME_MOST   48
#define KERNEL_HALF (1ULL << 63)

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static struct pcc_core *core;
static struct trace *trace;
static bool traces_references;
static FILE *out;
static bool counting;
static bool watches_program;
static char name[NAME_MOST + 1];
static uint32_t told_task[PCC_CPUS_MAX];
static char lock;

/* CPUs may be threads. */
static void enter(void)
{
	while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void leave(void)
{
	__atomic_clear(&lock, __ATOMIC_RELEASE);
}

static void tell(uint32_t task, const char *what, uint64_t number, const char *unit)
{
	fprintf(out, "value %s.task%" PRIu32 ".%s %" PRIu64 " %s\n", name, task, what, number,
		unit);
}

/* The colors in which a task missed: between which, and how many. */
static void report_colors(uint32_t task)
{
	const u64 *misses = core->task[task].misses_by_color;
	uint32_t lowest = core->colors, highest = 0, count = 0;

	for (uint32_t color = 0; color < core->colors; color++) {
		if (!misses[color])
			continue;
		lowest = count++ ? lowest : color;
		highest = color;
	}
	if (!count)
		return;
	tell(task, "colors_missed_in", count, "colors");
	tell(task, "lowest_color", lowest, "color");
	tell(task, "highest_color", highest, "color");
}

static void report_task(uint32_t task)
{
	const struct pcc_task *counts = &core->task[task];
	char what[40];

	tell(task, "user_references", counts->user_references, "references");
	tell(task, "kernel_references", counts->kernel_references, "references");
	tell(task, "l1_misses", counts->first_misses, "misses");
	tell(task, "l2_misses", counts->shared_misses, "misses");
	report_colors(task);
	for (uint32_t other = 0; other < PCC_TASKS_MAX; other++) {
		if (!core->task[other].user_references && !core->task[other].kernel_references)
			continue;
		snprintf(what, sizeof(what), "evicted_of_task%" PRIu32, other);
		tell(task, what, counts->evicted[other], "lines");
	}
}

static void report(void)
{
	for (uint32_t task = 0; task < PCC_TASKS_MAX; task++)
		if (core->task[task].user_references || core->task[task].kernel_references)
			report_task(task);
	fflush(out);
	name[0] = '\0';
}

static void add_char(uint8_t c)
{
	size_t length = strlen(name);

	if (length < NAME_MOST && c > ' ' && c < 0x7f) {
		name[length] = c;
		name[length + 1] = '\0';
	}
}

/* Physical, or false for devices and what has no address. */
static bool physical(qemu_plugin_meminfo_t info, uint64_t vaddr, uint64_t *address)
{
	struct qemu_plugin_hwaddr *place;

	*address = vaddr;
	if (watches_program)
		return true;
	place = qemu_plugin_get_hwaddr(info, vaddr);
	if (!place || qemu_plugin_hwaddr_is_io(place))
		return false;
	*address = qemu_plugin_hwaddr_phys_addr(place);
	return true;
}

static void obey(unsigned int cpu, unsigned int what, uint64_t vaddr, uint64_t address)
{
	uint32_t *task = &told_task[cpu % PCC_CPUS_MAX];

	switch (what) {
	case PAGEMILL_OBSERVE_TASK_LOW:
		*task = vaddr & 0xff;
		break;
	case PAGEMILL_OBSERVE_TASK_HIGH:
		*task |= (vaddr & 0xff) << 8;
		break;
	case PAGEMILL_OBSERVE_OWN:
		pcc_own(core, address, *task);
		break;
	case PAGEMILL_OBSERVE_CHAR:
		add_char(vaddr & 0xff);
		break;
	case PAGEMILL_OBSERVE_BEGIN:
		pcc_begin(core);
		counting = true;
		break;
	case PAGEMILL_OBSERVE_END:
		counting = false;
		report();
		break;
	}
}

static void on_mark(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *what)
{
	uint64_t address;

	enter();
	if (physical(info, vaddr, &address))
		obey(cpu, (uintptr_t)what, vaddr, address);
	leave();
}

static void on_first_miss(u64 address, u32 bytes, u32 task)
{
	if (task)
		trace_add(trace, address, bytes, task, false);
}

static void on_access(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *unused)
{
	bool kernel = vaddr >= KERNEL_HALF;
	uint32_t bytes = 1u << qemu_plugin_mem_size_shift(info);
	uint64_t address;
	uint32_t task;

	(void)unused;
	if (!__atomic_load_n(&counting, __ATOMIC_RELAXED) || !physical(info, vaddr, &address))
		return;
	enter();
	pcc_access(core, cpu, address, bytes, kernel);
	task = pcc_owner(core, address);
	if (traces_references && task && !kernel)
		trace_add(trace, address, bytes, task, qemu_plugin_mem_is_store(info));
	leave();
}

/* The message of the instruction, or 0: movzbl displacement(%rax), %eax. */
static unsigned int mark_of(const struct qemu_plugin_insn *insn)
{
	static const uint8_t opcode[] = { 0x0f, 0xb6, 0x80 };
	const uint8_t *bytes = qemu_plugin_insn_data(insn);
	uint32_t displacement;

	if (qemu_plugin_insn_size(insn) != 7 || memcmp(bytes, opcode, sizeof(opcode)))
		return 0;
	memcpy(&displacement, bytes + 3, sizeof(displacement));
	if ((displacement & PAGEMILL_OBSERVE_MASK) != PAGEMILL_OBSERVE_MAGIC)
		return 0;
	return displacement & ~PAGEMILL_OBSERVE_MASK;
}

/* QEMU 7.2 does not call for loads if only they are asked for: always both. */
static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t count = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		unsigned int mark = watches_program ? 0 : mark_of(insn);

		if (mark)
			qemu_plugin_register_vcpu_mem_cb(insn, on_mark, QEMU_PLUGIN_CB_NO_REGS,
							 QEMU_PLUGIN_MEM_RW,
							 (void *)(uintptr_t)mark);
		else
			qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
							 QEMU_PLUGIN_MEM_RW, NULL);
	}
}

/* A child of fork has the parent's file, and is not watched. */
static void leave_trace(void)
{
	counting = false;
	trace = NULL;
}

static void on_end(qemu_plugin_id_t id, void *unused)
{
	(void)id;
	(void)unused;
	if (trace && !trace_finish(trace))
		fprintf(stderr, "plugin_cache: the trace could not be written\n");
	fclose(out);
	pcc_free(core);
}

struct options {
	struct pcc_geometry first;
	struct pcc_geometry shared;
	const char *out;
	const char *trace;
	const char *trace_misses;
};

static bool parse_cache(const char *text, struct pcc_geometry *geometry)
{
	return sscanf(text, "%" SCNu64 ":%" SCNu32, (uint64_t *)&geometry->bytes,
		      &geometry->ways) == 2;
}

static bool parse_one(char *argument, struct options *options)
{
	char *value = strchr(argument, '=');

	if (!value)
		return false;
	*value++ = '\0';
	if (!strcmp(argument, "out"))
		options->out = value;
	else if (!strcmp(argument, "trace"))
		options->trace = value;
	else if (!strcmp(argument, "trace_misses"))
		options->trace_misses = value;
	else if (!strcmp(argument, "l1"))
		return parse_cache(value, &options->first);
	else if (!strcmp(argument, "l2"))
		return parse_cache(value, &options->shared);
	else if (!strcmp(argument, "line"))
		options->first.line_bytes = options->shared.line_bytes = strtoul(value, NULL, 0);
	else
		return false;
	return true;
}

static int refuse(const char *why)
{
	fprintf(stderr, "plugin_cache: %s\n", why);
	return 1;
}

QEMU_PLUGIN_EXPORT
int qemu_plugin_install(qemu_plugin_id_t id, const qemu_plugin_info_t *info, int argc, char **argv)
{
	/* A Core 2 Duo of 2008. */
	struct options options = {
		.first = { 32 << 10, 8, 64 },
		.shared = { 6 << 20, 24, 64 },
	};

	watches_program = !info->system_emulation;
	if (!watches_program && strcmp(info->target_name, "x86_64"))
		return refuse("it watches x86-64 machines only");
	for (int i = 0; i < argc; i++)
		if (!parse_one(argv[i], &options))
			return refuse(
				"arguments are out=FILE, trace=FILE, trace_misses=FILE, l1=BYTES:WAYS, l2=BYTES:WAYS, line=BYTES");
	if (options.trace && options.trace_misses)
		return refuse("one trace at a time");
	core = pcc_new(options.first, options.shared);
	if (!core)
		return refuse(
			"bytes / ways / line must be a power of two, and a way of l2 at least a page");
	out = options.out ? fopen(options.out, "w") : NULL;
	if (!out)
		return refuse(options.out ? strerror(errno) : "out=FILE is missing");
	if (options.trace || options.trace_misses) {
		trace = trace_start(options.trace ? options.trace : options.trace_misses);
		if (!trace)
			return refuse(strerror(errno));
		traces_references = options.trace;
		core->first_missed = options.trace ? NULL : on_first_miss;
	}
	if (watches_program) {
		core->only_task = 1;
		counting = true;
		pthread_atfork(NULL, NULL, leave_trace);
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}
