#!/bin/busybox sh
# The first program of the guest. Results go to the serial port REPORT, which the kernel's command line names, everything else
# to the console.
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
# Files of the host may be there.
[ -n "$(ls /tmp)" ] || mount -t tmpfs none /tmp
mkdir -p /dev/hugepages
mount -t hugetlbfs none /dev/hugepages
stty -F "/dev/$REPORT" raw -echo
exec 3>"/dev/$REPORT"

report() {
	echo "@ $*" >&3
}

# The last line that is no value gives the reason best.
reason() {
	grep -v '^value ' /suite/out | tail -n 1
}

# Output is shown as it comes and kept; the exit code takes the way around.
shown() {
	{
		"$@" 2>&1
		echo $? >/suite/code
	} | tee /suite/out >/dev/console
	return "$(cat /suite/code)"
}

run_tests() {
	count=0
	while read -r name command; do
		report start "$name"
		shown sh -c "$command" </dev/null
		code=$?
		grep '^value ' /suite/out | while read -r line; do report "$line"; done
		case $code in
		0) report pass "$name" ;;
		77) report skip "$name" "$(reason)" ;;
		*) report fail "$name" "exit code $code: $(reason)" ;;
		esac
		count=$((count + 1))
	done </suite/tests
	report end "$count"
}

if shown sh /suite/setup </dev/null; then
	run_tests
else
	report broken "setup: $(reason)"
fi
sync
poweroff -f
