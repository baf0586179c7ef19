#!/bin/sh
# Called by cargo in place of rustc for the crates of this workspace: adds the counters that libFuzzer reads.
# Build scripts run by themselves, without libFuzzer.
case " $* " in
*" build_script_build "*) exec "$@" ;;
esac
exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing
