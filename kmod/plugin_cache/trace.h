/* SPDX-License-Identifier: GPL-2.0 */
/* Writes pagemill's trace format; crates/core/pagemill-trace/src/native defines it. */
#ifndef PAGEMILL_PLUGIN_CACHE_TRACE_H
#define PAGEMILL_PLUGIN_CACHE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

struct trace;

/* NULL, and errno, if the file cannot be made. */
struct trace *trace_start(const char *path);
void trace_add(struct trace *trace, uint64_t address, uint32_t bytes, uint16_t task, bool write);
/* Ends the file; whether everything could be written. */
bool trace_finish(struct trace *trace);

#endif
