# Tests what the scripts share, with stand-ins for swift, sudo, apt and systemd. Prints what is wrong. Part of
# script/lint.
# shellcheck shell=bash
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
chmod 755 "$data"
mkdir "$data/bin"
# Other users can read it.
install -D -m 644 "$root/script/lib/common.sh" "$data/script/lib/common.sh"

# stand_in NAME TEXT: makes a command.
stand_in() {
    printf '#!/bin/bash\n%s\n' "$2" >"$data/bin/$1"
    chmod 755 "$data/bin/$1"
}

# expect NAME PATTERN COMMAND…: the command's output, errors included, has to match.
expect() {
    local name=$1 pattern=$2 told
    shift 2
    told=$("$@" 2>&1) || true
    # shellcheck disable=SC2053
    [[ $told == $pattern ]] || printf '%s: %s\n' "$name" "$told"
}

# What runs aside has ended when a script that Ctrl-C interrupted ends, and has cleaned up, also after a second Ctrl-C.
interrupted() {
    local script process status=0 name sleeper
    script=$(
        cat <<'SH'
set -euo pipefail
data=$1
source "$2"
trap 'trap - EXIT; end_asides; exit 1' EXIT
trap 'exit 130' INT
work() { "$data/bin/sleeper" "$1"; }
aside command bash -c 'trap "\"$0/bin/cleaner\" \"$0\"" EXIT; "$0/bin/sleeper" "$0/command"; :' "$data"
aside function work "$data/function"
while [[ ! -s $data/command || ! -s $data/function ]]; do sleep 0.05; done
touch "$data/started"
sleep 1000
SH
    )
    stand_in sleeper 'echo $$ >"$1"; exec sleep 1000'
    stand_in cleaner 'touch "$1/cleaning"; while [[ ! -e $1/go ]]; do sleep 0.05; done; touch "$1/cleaned"'
    # Commands in the background of a script ignore the signal, unless told otherwise.
    env --default-signal=INT setsid bash -c "$script" script "$data" "$root/script/lib/asides.sh" &
    process=$!
    while [[ ! -e $data/started ]] && kill -0 "$process" 2>/dev/null; do sleep 0.05; done
    kill -INT -- "-$process"
    while [[ ! -e $data/cleaning ]] && kill -0 "$process" 2>/dev/null; do sleep 0.05; done
    kill -INT -- "-$process" 2>/dev/null || true
    touch "$data/go"
    wait "$process" || status=$?
    ((status == 1)) || echo "a second Ctrl-C ended a script that cleans up (status $status)"
    for name in command function; do
        sleeper=$(<"$data/$name")
        if kill -KILL "$sleeper" 2>/dev/null; then echo "a $name that ran aside outlived the script"; fi
    done
    [[ -e $data/cleaned ]] || echo "a command that ran aside could not clean up"
}

# Prints what differs between the flags of `sluice dev` and those that script/server knows, in its help and at all.
differing_flags() {
    local told known server=$root/script/server
    told=$(awk '
        /^    @(Option|Flag)/ { isFlag = 1; name = "" }
        isFlag && match($0, /customLong\("[^"]*"/) { name = substr($0, RSTART + 12, RLENGTH - 13) }
        isFlag && /^    var / { sub(/:$/, "", $2); print "--" (name ? name : $2); isFlag = 0 }
    ' "$root/Sources/sluice/Commands/DevCommand.swift" | sort)
    known=$(grep -oE '^    --?[a-z].*' <(sed -n '/case \$1 in/,/esac/s/^    //p' "$server") |
        grep -oE -- '--[a-z-]+' | grep -vx -- --help | sort -u)
    diff <(echo "$told") <(echo "$known") || echo "sluice dev and what script/server takes"
    known=$(sed -n 's/^#   --/--/p' "$server" | grep -oE -- '--[a-z-]+' | sort)
    diff <(echo "$told") <(echo "$known") || echo "sluice dev and the help of script/server"
}

# Services that packages would start are not enabled afterwards, and those that were enabled before still are.
stopped_services() (
    service_policy=$data/policy
    printf '%s\n' cron.service ssh.service >"$data/enabled"
    as_root() { "$@"; }
    apt_install() {
        [[ -x $service_policy ]] || echo "nothing keeps the services of $* from starting"
        printf '%s\n' ceph-crash.service pgbouncer.service >>"$data/enabled"
    }
    systemctl() {
        case $1 in
            list-unit-files) sed 's/$/ enabled enabled/' "$data/enabled" ;;
            *) grep -vxF "$(printf '%s\n' "${@:3}")" "$data/enabled" >"$data/left" && mv "$data/left" "$data/enabled" ;;
        esac
    }
    install_stopped pgbouncer radosgw
    diff <(printf '%s\n' cron.service ssh.service) "$data/enabled" || echo "the units that are enabled"
)

# apt waits for locks that another apt has, and for nothing else.
awaited_locks() (
    PATH=$data/bin:$PATH
    as_root() { "$@"; }
    sleep() { :; }
    stand_in apt-get '
        echo "$*" >>"$0.tries"
        (($(wc -l <"$0.tries") > 2)) || { echo "E: Could not get lock /var/lib/apt/lists/lock." >&2; exit 100; }'
    expect "apt beside another apt" '' apt_get update
    [[ $(wc -l <"$data/bin/apt-get.tries") == 3 ]] || echo "apt does not wait for a lock"
    stand_in apt-get 'echo "$*" >>"$0.tries"; echo "E: Unable to locate package none" >&2; exit 100'
    expect "apt without a package" 'E: Unable to locate package none' apt_get install none
    [[ $(wc -l <"$data/bin/apt-get.tries") == 4 ]] || echo "apt tries again what fails"
    if apt_get install none 2>/dev/null; then echo "a failure of apt is not told"; fi
)

interrupted
differing_flags
stopped_services
awaited_locks

stand_in swift 'echo "swift: error while loading shared libraries: libncurses.so.6" >&2; exit 127'
path=$data/bin:/usr/bin:/bin
common=$data/script/lib/common.sh
expect "a Swift that does not run" '*/bin/swift does not run: *libncurses.so.6; install the packages*' \
    env PATH="$path" bash -c 'set -euo pipefail; source "$1"; require_swift' bash "$common"
stand_in swift 'echo "Swift version 6.1.2 (swift-6.1.2-RELEASE)"'
expect "a Swift that is too old" '*Swift 6.2 or later is needed, this is 6.1' \
    env PATH="$path" bash -c 'set -euo pipefail; source "$1"; require_swift' bash "$common"
stand_in swift 'echo "script/server asked for Swift"'
expect "script/server --help" '*--port PORT*' env PATH="$path" "$root/script/server" --help
expect "a flag that is none" "error: '--prot=1' is no flag*" env PATH="$path" "$root/script/server" --prot=1
for arguments in 'dist --lock lock.json' "--lock $common --help" "--lock $common dist dist"; do
    # shellcheck disable=SC2086
    expect "script/package $arguments" "error: '* is not one directory*" \
        env PATH="$path" "$root/script/package" $arguments
done

stand_in sudo 'exec env -i PATH="$PATH" "$@"'
unprivileged=()
if ((EUID == 0)); then unprivileged=(setpriv --reuid=65534 --regid=65534 --clear-groups --); fi
expect "the proxy of a command as root" 'http://proxy.example:3128 example.org' \
    env PATH="$path" http_proxy=http://proxy.example:3128 https_proxy='' no_proxy=example.org "${unprivileged[@]}" \
    bash -c 'set -euo pipefail; source "$1"; as_root bash -c "echo \$http_proxy \$no_proxy"' bash "$common"

if command -v dpkg >/dev/null; then
    earlier=1.0.0$(unreleased 1795957200 ffffffff '')
    later=1.0.0$(unreleased 1795957201 00000000 ' M README.md')
    dpkg --compare-versions "$earlier" lt "$later" || echo "$earlier does not sort before $later"
    dpkg --compare-versions "$later" lt 1.0.0 || echo "$later does not sort before 1.0.0"
    [[ $later == *.dirty ]] || echo "$later does not tell of a changed file"
fi
