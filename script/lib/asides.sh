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

# end_asides: tells what still runs aside to end, and waits until all its processes have, at most a minute. The script
# and what it starts ignore Ctrl-C from then on, so that a second one leaves nothing behind.
end_asides() {
    local group end=$((SECONDS + 60))
    trap '' INT TERM
    for group in "${asides[@]}"; do kill -TERM -- "-$group" 2>/dev/null || true; done
    for group in "${asides[@]}"; do
        while kill -0 -- "-$group" 2>/dev/null; do
            if ((SECONDS >= end)); then
                kill -KILL -- "-$group" 2>/dev/null || true
                break
            fi
            sleep 0.1
        done
    done
}
