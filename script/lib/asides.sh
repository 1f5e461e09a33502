# Commands that run beside others. Source this file after `set -euo pipefail`, with a directory for output in `data`.
# shellcheck shell=bash

# The process of each command that runs beside the others, which is also the number of its group of processes.
declare -A asides=()

# aside NAME COMMAND…: runs a command beside what follows, so that no processor is idle while one waits.
aside() {
    local name=$1
    shift
    # A group of its own, so that end_asides reaches all processes in it. Ctrl-C does not.
    set -m
    "$@" >"$data/$name.out" 2>&1 </dev/null &
    set +m
    asides[$name]=$!
}

# end_asides: tells what still runs aside to end, and waits until all its processes have.
end_asides() {
    local group attempt
    for group in "${asides[@]}"; do kill -TERM -- "-$group" 2>/dev/null || true; done
    for group in "${asides[@]}"; do
        for attempt in {1..600}; do
            kill -0 -- "-$group" 2>/dev/null || continue 2
            sleep 0.1
        done
        kill -KILL -- "-$group" || true
    done
}
