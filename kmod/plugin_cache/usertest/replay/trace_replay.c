// SPDX-License-Identifier: GPL-2.0
/*
 * trace.c, one command a line, one answer a line:
 *
 *   start PATH                          0
 *   add ADDRESS BYTES TASK WRITE        0
 *   finish                              0 if the file is whole
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../trace.h"

int main(void)
{
	struct trace *trace = NULL;
	char command[16], path[4096];

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (scanf("%15s", command) == 1) {
		if (!strcmp(command, "start") && scanf(" %4095[^\n]", path) == 1) {
			trace = trace_start(path);
		} else if (!strcmp(command, "add") && trace) {
			uint64_t address;
			uint32_t bytes;
			uint16_t task;
			int write;

			if (scanf("%" SCNu64 " %" SCNu32 " %" SCNu16 " %d", &address, &bytes, &task,
				  &write) != 4)
				return 2;
			trace_add(trace, address, bytes, task, write);
		} else if (!strcmp(command, "finish") && trace) {
			if (!trace_finish(trace))
				return 1;
			trace = NULL;
		} else {
			return 2;
		}
		printf("0\n");
	}
	return 0;
}
