#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Two programs beside each other, each with colors of its own from the coordinator, while the caches are watched.
#
#   color_beside NAME COLORS1 COLORS2 PROGRAM1 PROGRAM2
#   color_beside NAME all all PROGRAM1 PROGRAM2            without a coordinator: both have all colors
#
# A program and its arguments are one word, and begin with a path: the shell has some programs built in, which nothing can be
# preloaded to. To be run on a module that was just loaded: the coordinator's question is space 1, the programs are tasks 2 and 3;
# without it they are tasks 1 and 2.

name=$1 colors1=$2 colors2=$3 program1=$4 program2=$5
. color_wait

# start NUMBER COLORS PROGRAM: it begins when there is a file `go`, and waits for that once there is a file NUMBER.waits.
start() {
	colors=
	[ "$2" = all ] || colors="--colors $2"
	# Two words, or none.
	# shellcheck disable=SC2086
	pagemill color run $colors -- sh -c ": >$folder/$1.waits; until [ -e $folder/go ]; do sleep 0.1; done; exec $3" \
		>"$folder/$1.out" 2>"$folder/$1.log" &
}

given="from the coordinator"
daemon=
if [ "$colors1" = all ]; then
	given="as no coordinator runs"
else
	pagemill color serve --grace 0 2>"$folder/serve.log" &
	daemon=$!
	wait_until "the coordinator answers" pagemill color status
fi
start 1 "$colors1" "$program1"
first=$!
wait_until "the first task has colors" grep -q "$given" "$folder/1.log"
wait_until "the first program waits" test -e "$folder/1.waits"
start 2 "$colors2" "$program2"
second=$!
wait_until "the second task has colors" grep -q "$given" "$folder/2.log"
wait_until "the second program waits" test -e "$folder/2.waits"

cache_count begin
: >"$folder/go"
wait $first || fail "the first program did not end well"
wait $second || fail "the second program did not end well"
cache_count end "$name"

if [ -n "$daemon" ]; then
	kill "$daemon"
	wait "$daemon"
fi
wait_until "all companions are gone" rmmod pagemill_color
