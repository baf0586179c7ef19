#!/usr/bin/env bash
# Compares the rows that two builds of the command give for the scenarios of this repository.
#
#   validation/same-rows.sh OLD NEW [SCENARIO ...]
#
# OLD and NEW are `pagemill` commands with their libraries beside them. A scenario that OLD does not finish within
# SECONDS_EACH (60) is passed over and named. Exits with 1 if any rows differ.
set -uo pipefail
cd "$(dirname "$0")/.."
old=$1 new=$2
shift 2
[ $# -gt 0 ] || set -- scenarios/*.toml
limit=${SECONDS_EACH:-60}
rows=$(mktemp -d)
trap 'rm -rf "$rows"' EXIT
same=0 different=0 passed_over=0
for scenario in "$@"; do
    name=$(basename "$scenario" .toml)
    if ! timeout "$limit" "$old" run "$scenario" --format csv > "$rows/old" 2> "$rows/message"; then
        echo "$name: passed over, OLD did not finish: $(head -c 120 "$rows/message" | tr '\n' ' ')"
        passed_over=$((passed_over + 1))
        continue
    fi
    # OLD took less than the limit; four times as long is a fault of NEW.
    if ! timeout $((4 * limit)) "$new" run "$scenario" --format csv > "$rows/new" 2> "$rows/message"; then
        echo "$name: NEW failed: $(head -c 200 "$rows/message" | tr '\n' ' ')"
        different=$((different + 1))
    elif cmp -s "$rows/old" "$rows/new"; then
        same=$((same + 1))
    else
        echo "$name: $(diff "$rows/old" "$rows/new" | grep -c '^>') of $(($(wc -l < "$rows/new") - 1)) rows differ"
        different=$((different + 1))
    fi
done
echo "$same scenarios with the same rows, $different with others, $passed_over passed over"
[ "$different" -eq 0 ]
