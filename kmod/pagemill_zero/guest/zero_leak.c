// SPDX-License-Identifier: GPL-2.0
/*
 * Does a process see what another left in a page, or lose what it wrote?
 *
 *   zero_leak MODE PAGES [--page-bytes N] [--at-once N] [--engine NAME]
 *             [--verify HOW] [--deadline-us N] [--rest-us N] [--await-clean] [--kill-helper]
 *             [--helper COMMAND] [--expect-leak] [--expect-clean] [--expect-helper]
 *
 * Every page is checked to be zero when it is first touched, filled with a
 * marker of its own, and checked again for the marker before it is given back.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "zero_helper.h"

#define LINE_BYTES 64

struct options {
	const char *mode;
	size_t pages;
	size_t page_bytes;
	size_t at_once;
	enum zero_engine engine;
	const char *verify;
	const char *deadline_us;
	uint64_t rest_us;   /* at most, between two rounds */
	const char *helper; /* another program */
	bool awaits_clean;  /* every second round waits until the helper has cleaned a page */
	bool kills_helper;
	bool expects_leak;
	bool expects_clean;  /* faults must meet clean pages, in pool by this helper */
	bool expects_helper; /* the helper must clean for some faults that wait */
};

struct findings {
	uint64_t leaked_pages;
	uint64_t wiped_pages;
};

static uint64_t marker(uint64_t page, size_t line)
{
	return 0x5ec2e70000000000ull ^ page << 26 ^ line;
}

/* One word of each cache line, another one in the next line. */
static volatile uint64_t *word(char *page, size_t line)
{
	return (volatile uint64_t *)(page + line * LINE_BYTES + line % 8 * 8);
}

static bool is_zero(char *page, size_t bytes)
{
	for (size_t line = 0; line < bytes / LINE_BYTES; line++)
		if (*word(page, line))
			return false;
	return true;
}

static void fill(char *page, uint64_t number, size_t bytes)
{
	for (size_t line = 0; line < bytes / LINE_BYTES; line++)
		*word(page, line) = marker(number, line);
}

static bool is_kept(char *page, uint64_t number, size_t bytes)
{
	for (size_t line = 0; line < bytes / LINE_BYTES; line++)
		if (*word(page, line) != marker(number, line))
			return false;
	return true;
}

/* Maps, checks, marks, checks again, unmaps. */
static void one_round(const struct options *options, uint64_t first, size_t count,
		      struct findings *found)
{
	size_t bytes = options->page_bytes;
	char *pages = guest_map_pages(count, bytes);

	for (size_t i = 0; i < count; i++) {
		found->leaked_pages += !is_zero(pages + i * bytes, bytes);
		fill(pages + i * bytes, first + i, bytes);
	}
	for (size_t i = 0; i < count; i++)
		found->wiped_pages += !is_kept(pages + i * bytes, first + i, bytes);
	guest_unmap_pages(pages, count, bytes);
}

static atomic_bool over;

/* Kills the helper at a random time, again and again. */
static void *kill_helpers(void *argument)
{
	const struct options *options = argument;
	uint64_t state = 7, kills = 0;

	while (!atomic_load(&over)) {
		pid_t helper = zero_helper_start(options->engine, kills % 2);

		usleep(1000 + guest_random(&state) % 60000);
		zero_helper_kill(helper);
		kills++;
	}
	guest_value("helpers_killed", kills, "helpers");
	return NULL;
}

/* Returns once the helper has cleaned a page of the pool, or after 200 s: a busy machine gives the guest little time. */
static void await_clean_page(uint64_t cleaned_before)
{
	for (int waited_ms = 0; waited_ms < 200000; waited_ms += 20) {
		if (zero_counter("pool_cleaned") != cleaned_before) {
			/* The page may still be on its way back to the kernel's list. */
			usleep(500000);
			return;
		}
		usleep(20000);
	}
}

static struct findings all_rounds(const struct options *options)
{
	struct findings found = { 0, 0 };
	uint64_t state = 11;

	for (size_t done = 0, round = 0; done < options->pages; round++) {
		size_t count = options->pages - done;
		uint64_t cleaned = zero_counter("pool_cleaned");

		if (count > options->at_once)
			count = options->at_once;
		one_round(options, done, count, &found);
		done += count;
		/* The helper gets time in some rounds and none in others. */
		usleep(guest_random(&state) % options->rest_us);
		if (options->awaits_clean && round % 2 == 0)
			await_clean_page(cleaned);
	}
	return found;
}

static const struct {
	const char *counter, *value, *unit;
} told[] = {
	{ "faults_clean", "found_clean", "faults" },
	{ "faults_cpu", "cleaned_by_cpu", "faults" },
	{ "faults_helper", "cleaned_by_helper", "faults" },
	{ "faults_async", "not_waited_for", "faults" },
	{ "pool_cleaned", "cleaned_while_free", "pages" },
	{ "timeouts", "deadlines_missed", "pieces" },
	{ "recalled", "called_back", "pieces" },
	{ "refused", "lies_refused", "pieces" },
	{ "recalls", "recalls", "recalls" },
};

#define TOLD (sizeof(told) / sizeof(told[0]))

static void read_counters(uint64_t *counts)
{
	for (size_t i = 0; i < TOLD; i++)
		counts[i] = zero_counter(told[i].counter);
}

static void report(const struct options *options, const struct findings *found,
		   const uint64_t *before)
{
	uint64_t counts[TOLD];

	read_counters(counts);
	guest_value("pages", options->pages, "pages");
	guest_value("leaked", found->leaked_pages, "pages");
	guest_value("wiped", found->wiped_pages, "pages");
	for (size_t i = 0; i < TOLD; i++)
		guest_value(told[i].value, counts[i] - before[i], told[i].unit);
}

static enum zero_engine engine_called(const char *name)
{
	static const char *const names[] = { "stores", "none", "stuck", "late", "hostile" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return i;
	guest_fail("there is no engine %s", name);
}

static struct options parse(int argc, char **argv)
{
	static const struct option known[] = {
		{ "page-bytes", required_argument, NULL, 'p' },
		{ "at-once", required_argument, NULL, 'n' },
		{ "engine", required_argument, NULL, 'e' },
		{ "verify", required_argument, NULL, 'v' },
		{ "deadline-us", required_argument, NULL, 'd' },
		{ "rest-us", required_argument, NULL, 'r' },
		{ "expect-clean", no_argument, NULL, 'c' },
		{ "await-clean", no_argument, NULL, 'a' },
		{ "kill-helper", no_argument, NULL, 'k' },
		{ "helper", required_argument, NULL, 'h' },
		{ "expect-helper", no_argument, NULL, 'w' },
		{ "expect-leak", no_argument, NULL, 'x' },
		{ NULL, 0, NULL, 0 },
	};
	struct options options = { .page_bytes = 2 << 20,
				   .at_once = 40,
				   .verify = "sample",
				   .deadline_us = "10000",
				   .rest_us = 8000 };
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 'p':
			options.page_bytes = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			options.at_once = strtoull(optarg, NULL, 0);
			break;
		case 'e':
			options.engine = engine_called(optarg);
			break;
		case 'v':
			options.verify = optarg;
			break;
		case 'd':
			options.deadline_us = optarg;
			break;
		case 'r':
			options.rest_us = strtoull(optarg, NULL, 0) | 1;
			break;
		case 'c':
			options.expects_clean = true;
			break;
		case 'a':
			options.awaits_clean = true;
			break;
		case 'k':
			options.kills_helper = true;
			break;
		case 'h':
			options.helper = optarg;
			break;
		case 'w':
			options.expects_helper = true;
			break;
		case 'x':
			options.expects_leak = true;
			break;
		default:
			exit(2);
		}
	}
	if (argc - optind != 2)
		guest_fail("usage: zero_leak MODE PAGES [options]");
	options.mode = argv[optind];
	options.pages = strtoull(argv[optind + 1], NULL, 0);
	return options;
}

static struct findings run(struct options *options)
{
	struct findings found;
	pthread_t killer;
	pid_t helper = 0;

	if (options->kills_helper)
		pthread_create(&killer, NULL, kill_helpers, options);
	else if (options->helper)
		helper = zero_helper_run(options->helper);
	else
		helper = zero_helper_start(options->engine, false);
	found = all_rounds(options);
	if (helper && waitpid(helper, NULL, WNOHANG))
		guest_fail("the helper died");
	atomic_store(&over, true);
	if (options->kills_helper)
		pthread_join(killer, NULL);
	else
		zero_helper_kill(helper);
	return found;
}

int main(int argc, char **argv)
{
	struct options options = parse(argc, argv);
	struct findings found;
	uint64_t before[TOLD];
	uint64_t clean, helped, pooled;
	bool is_broken;

	read_counters(before);
	pooled = zero_counter("pool_cleaned");
	zero_set("verify", options.verify);
	zero_set("deadline_us", options.deadline_us);
	zero_set("mode", options.mode);
	found = run(&options);
	zero_set("mode", "plain");
	report(&options, &found, before);
	clean = zero_counter("faults_clean") - before[0];
	helped = zero_counter("faults_helper") - before[2];
	if (options.expects_clean && !clean)
		guest_fail("no fault met a clean page");
	if (options.expects_clean && !strcmp(options.mode, "pool") &&
	    zero_counter("pool_cleaned") == pooled)
		guest_fail("the helper cleaned no page");
	if (options.expects_helper && !helped)
		guest_fail("the helper cleaned for no fault");
	is_broken = found.leaked_pages || found.wiped_pages;
	if (is_broken != options.expects_leak)
		guest_fail("%" PRIu64 " pages leaked, %" PRIu64 " were wiped; %s",
			   found.leaked_pages, found.wiped_pages,
			   options.expects_leak ? "this test would not see a leak" : "none may be");
	return 0;
}
