#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Tasks under a coordinator: colors change as they come and go, and when the coordinator dies and comes back.
#
#   color_daemon FILE        FILE is what bzip2 compresses

. color_wait

# start_daemon MS: how long it waits for tasks of a former one.
start_daemon() {
	pagemill color serve --grace "$1" 2>>"$folder/serve.log" &
	daemon=$!
	wait_until "the coordinator answers" pagemill color status
}

# Colors and processes of all tasks.
who_has_what() {
	pagemill color status | sed -n 's/^ *\([0-9-]*\) .* process \([0-9]*\) .*/\1 \2/p'
}

knows_tasks() {
	[ "$(who_has_what | wc -l)" = "$1" ]
}

# start_heap NAME CLASS MIB
start_heap() {
	pagemill color run --class "$2" -- color_heap changes "$1" "$folder" "$3" >"$folder/$1.out" 2>"$folder/$1.log" &
}

changed() {
	wait_until "$1 has seen change $2" test -e "$folder/$1.$2"
}

not_changed() {
	[ ! -e "$folder/$1.$2" ] || fail "$1 has got other colors, for no reason"
}

leave() {
	: >"$folder/$1.leave"
	wait "$2" || fail "$1 did not end well: $(tail -n 1 "$folder/$1.log")"
	cat "$folder/$1.out"
}

start_daemon 0
start_heap first A 6
first=$!
changed first 0
start_heap second C 3
second=$!
changed second 0
changed first 1

wait_until "both tasks are known" knows_tasks 2
before=$(who_has_what)
kill -9 $daemon
wait $daemon
# Companions look for it twice a second; one that comes later than this finds its colors given away.
start_daemon 5000
wait_until "the new coordinator knows both tasks" knows_tasks 2
sleep 6
[ "$(who_has_what)" = "$before" ] || fail "after: $(who_has_what); before: $before"
not_changed first 2
not_changed second 1

kill -9 $daemon
wait $daemon
leave second $second
start_daemon 0
changed first 2

pagemill color run --class D -- bzip2 -c "$1" >"$folder/bz2" 2>"$folder/bzip2.log" || fail "bzip2 did not end well"
changed first 4
bzip2 -dc "$folder/bz2" | cmp - "$1" || fail "bzip2 has lost bytes"
not_changed first 5
leave first $first

kill $daemon
wait $daemon
wait_until "all companions are gone" rmmod pagemill_color
insmod /modules/pagemill_color.ko
