# SPDX-License-Identifier: GPL-2.0
# Read by scripts that run tasks of `pagemill color`: a folder for their logs, and bounded waits.

folder=$(mktemp -d)
export PAGEMILL_COLOR_SOCKET="$folder/socket"

fail() {
	tail -n 2 "$folder"/*.log
	echo "$*"
	exit 1
}

# wait_until WHAT COMMAND..: looks for more than three minutes.
wait_until() {
	what=$1
	shift
	looks=0
	until "$@" >/dev/null 2>&1; do
		looks=$((looks + 1))
		[ $looks -lt 1000 ] || fail "gave up waiting until $what"
		sleep 0.2
	done
}
