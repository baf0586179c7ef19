#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs a program in colored memory while the caches are watched.
#
#   color_program NAME COLORS PROGRAM [ARGUMENT..]      colors: the first so many

name=$1 colors=$2
shift 2
cache_count begin
pagemill color run --colors "$colors" -- "$@"
code=$?
cache_count end "$name"
[ $code = 0 ] || echo "$1 ended with exit code $code"
exit $code
