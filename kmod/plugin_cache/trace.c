// SPDX-License-Identifier: GPL-2.0
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAYLOAD_BYTES	    (64 << 10)
#define REFERENCE_BYTES_MAX (1 + 4 + 2 + 8)
#define WRITE		    0x80
#define BYTES_FOLLOW	    7
#define TASK_FOLLOWS	    0x08
#define DISTANCE_BYTES	    7

struct trace {
	FILE *file;
	bool failed;
	uint64_t references;
	/* the block in the making */
	uint8_t payload[PAYLOAD_BYTES + REFERENCE_BYTES_MAX];
	uint32_t used;
	uint32_t in_block;
	uint64_t address;
	uint16_t task;
};

static uint32_t crc_table[256];

/* CRC-32 of IEEE 802.3, reflected. */
static void make_crc_table(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
		crc_table[byte] = crc;
	}
}

static uint32_t crc_of(const uint8_t *bytes, size_t count)
{
	uint32_t crc = ~0u;

	while (count--)
		crc = crc >> 8 ^ crc_table[(crc ^ *bytes++) & 0xff];
	return ~crc;
}

static void put_file(struct trace *trace, const void *bytes, size_t count)
{
	trace->failed |= fwrite(bytes, 1, count, trace->file) != count;
}

/* Little-endian, as the host is (x86-64). */
static void put(struct trace *trace, const void *bytes, size_t count)
{
	memcpy(trace->payload + trace->used, bytes, count);
	trace->used += count;
}

struct trace *trace_start(const char *path)
{
	struct trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		return NULL;
	trace->file = fopen(path, "wb");
	if (!trace->file) {
		free(trace);
		return NULL;
	}
	make_crc_table();
	put_file(trace, "PMTRACE\x01", 8);
	return trace;
}

static void end_block(struct trace *trace)
{
	uint32_t crc = crc_of(trace->payload, trace->used);

	if (!trace->used)
		return;
	put_file(trace, &trace->used, sizeof(trace->used));
	put_file(trace, &trace->in_block, sizeof(trace->in_block));
	put_file(trace, &crc, sizeof(crc));
	put_file(trace, trace->payload, trace->used);
	trace->references += trace->in_block;
	trace->used = 0;
	trace->in_block = 0;
	trace->address = 0;
	trace->task = 0;
}

static uint8_t bytes_needed(uint64_t number)
{
	return number ? (64 - __builtin_clzll(number) + 7) / 8 : 0;
}

void trace_add(struct trace *trace, uint64_t address, uint32_t bytes, uint16_t task, bool write)
{
	int64_t distance = address - trace->address;
	uint64_t zigzag = (uint64_t)distance << 1 ^ (uint64_t)(distance >> 63);
	uint8_t distance_bytes = bytes_needed(zigzag);
	uint8_t size = BYTES_FOLLOW, control;

	bytes = bytes ? bytes : 1;
	if (!(bytes & (bytes - 1)) && __builtin_ctz(bytes) < BYTES_FOLLOW)
		size = __builtin_ctz(bytes);
	if (distance_bytes >= DISTANCE_BYTES)
		distance_bytes = 8;
	control = (write ? WRITE : 0) | size << 4 | (task != trace->task ? TASK_FOLLOWS : 0) |
		  (distance_bytes < DISTANCE_BYTES ? distance_bytes : DISTANCE_BYTES);
	put(trace, &control, 1);
	if (size == BYTES_FOLLOW)
		put(trace, &bytes, sizeof(bytes));
	if (task != trace->task)
		put(trace, &task, sizeof(task));
	put(trace, &zigzag, distance_bytes);
	trace->address = address;
	trace->task = task;
	trace->in_block++;
	if (trace->used >= PAYLOAD_BYTES)
		end_block(trace);
}

bool trace_finish(struct trace *trace)
{
	uint32_t zero = 0, crc;
	bool whole;

	end_block(trace);
	crc = crc_of((const uint8_t *)&trace->references, sizeof(trace->references));
	put_file(trace, &zero, sizeof(zero));
	put_file(trace, &crc, sizeof(crc));
	put_file(trace, &trace->references, sizeof(trace->references));
	whole = !fclose(trace->file) && !trace->failed;
	free(trace);
	return whole;
}
