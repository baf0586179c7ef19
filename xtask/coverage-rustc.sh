#!/bin/sh
# Called by cargo in place of rustc for the crates of this workspace: adds the counters that libFuzzer reads.
# Build scripts run by themselves, without libFuzzer.
case " $* " in
*" build_script_build "*) exec "$@" ;;
esac
# What numbers and texts are compared with finds the way into a format, and costs half of the time: optimized builds, which are for
# long runs, begin with inputs that have found it.
compares=-Cllvm-args=-sanitizer-coverage-trace-compares
case " $* " in
*" opt-level=3 "*) compares=-Cllvm-args=-sanitizer-coverage-trace-compares=0 ;;
esac
exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
	$compares --cfg fuzzing
