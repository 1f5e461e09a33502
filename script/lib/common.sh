# Functions for the scripts. Source this file after `set -euo pipefail`; it does nothing by itself.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
venv=$root/.build-venv
# How a release is built. Linking Swift's library statically saves a tenth of the cycles of a request. The linker lld is
# twice as fast as the default one, and does not warn of a function that Foundation contains and nobody calls. Compact
# relocations and no table of symbols for plug-ins take 6 MB off the program.
release_build=(
    --package-path "$root" --configuration release --product sluice --static-swift-stdlib --disable-local-rpath
    -Xswiftc -use-ld=lld -Xlinker -z -Xlinker pack-relative-relocs -Xlinker --no-export-dynamic
)
# How the scripts build what they test: without debug information and without an index of the system's modules, neither
# of which anybody reads there. A clean build takes a fifth less processor time, and a quarter less room.
quick_build=(-debug-info-format none -Xswiftc -index-ignore-system-modules -Xswiftc -index-ignore-clang-modules)
# Seconds that the last builds of a release took: from nothing, and again.
release_times=$root/.build/release-seconds

say() { printf '==> %s\n' "$*" >&2; }

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

as_root() {
    if ((EUID == 0)); then
        "$@"
    elif command -v sudo >/dev/null; then
        # sudo drops these variables, which apt needs where a proxy is the only way out.
        local name proxies=()
        for name in http_proxy https_proxy no_proxy; do
            if [[ -n ${!name:-} ]]; then proxies+=("$name=${!name}"); fi
        done
        sudo ${proxies[@]:+env "${proxies[@]}"} "$@"
    else
        die "needs root for: $* (run as root, or install sudo)"
    fi
}

# Prints the head of this script, without its first line.
print_head() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

# no_arguments ARGUMENT…: explains a script that takes no arguments where it is asked for help, and refuses others.
no_arguments() {
    (($# > 0)) || return 0
    case $1 in
        -h | --help) print_head && exit ;;
        *) die "'$1' is no argument: script/${0##*/} takes none" ;;
    esac
}

require_debian() {
    local id='' release=''
    if [[ -r /etc/os-release ]]; then
        id=$(. /etc/os-release && printf '%s' "${ID:-}")
        release=$(. /etc/os-release && printf '%s' "${VERSION_ID:-}")
    fi
    if [[ $id != debian || $release != 12 ]] || ! command -v apt-get >/dev/null; then
        die "this script installs packages with apt and knows Debian 12 only (this is '${id:-unknown} $release');" \
            "see CONTRIBUTING.md for what to install by hand; then 'swift run sluice dev' starts the demo, and 'swift test' the tests"
    fi
}

require_swift() {
    local site=https://www.swift.org/install/linux/ told version
    command -v swift >/dev/null || die "no Swift toolchain on the PATH; install Swift 6.2 or later ($site)"
    told=$(swift --version 2>&1) || true
    version=$(sed -nE 's/.*Swift version ([0-9]+\.[0-9]+).*/\1/p' <<<"$told" | head -n 1)
    [[ -n $version ]] ||
        die "$(command -v swift) does not run: $(tail -n 1 <<<"$told"); install the packages that $site lists for Debian 12"
    local major=${version%%.*} minor=${version##*.}
    ((major > 6 || (major == 6 && minor >= 2))) || die "Swift 6.2 or later is needed, this is $version"
}

is_installed() {
    dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

# apt_get ARGUMENTS…: runs apt-get. While another one has a lock, as on a machine that has just been started, it tries
# again for two minutes. apt's own DPkg::Lock::Timeout does not wait for the lock of its lists.
apt_get() {
    local told status end=$((SECONDS + 120))
    while true; do
        status=0
        { told=$(as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get -qq "$@" </dev/null 2>&1 >&3) ||
            status=$?; } 3>&2
        if ((status == 0 || SECONDS >= end)) || [[ $told != *"Could not get lock"* ]]; then break; fi
        sleep 1
    done
    if [[ -n $told ]]; then printf '%s\n' "$told" >&2; fi
    return "$status"
}

apt_install() { apt_get -y -o Dpkg::Use-Pty=0 --no-install-recommends install "$@"; }

# Installs the missing ones of the named packages. It does not use the network if all are installed.
install_packages() {
    local package missing=()
    remove_leftovers
    for package in "$@"; do
        is_installed "$package" || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    say "installing ${missing[*]}"
    apt_get update
    local services=() others=()
    for package in "${missing[@]}"; do
        case $package in
            postgresql-15) install_postgresql ;;
            nginx | etcd-server | patroni | prometheus | pgbouncer | radosgw | ceph-mon | ceph-osd)
                services+=("$package")
                ;;
            *) others+=("$package") ;;
        esac
    done
    if ((${#services[@]})); then install_stopped "${services[@]}"; fi
    if ((${#others[@]})); then apt_install "${others[@]}"; fi
}

# Files that the machine has only while install_packages runs.
no_main_cluster=/etc/postgresql-common/createcluster.d/sluice.conf
service_policy=/usr/sbin/policy-rc.d

# Debian's server package creates and starts a cluster on port 5432, unless the file forbids it.
install_postgresql() {
    apt_install postgresql-common
    with_file "$no_main_cluster" 'create_main_cluster = false' apt_install postgresql-15
}

# install_stopped PACKAGE…: installs packages of Debian that, or whose dependencies, would start services, now and at
# each boot. This prevents both, unless the machine already has a policy for services.
install_stopped() {
    if [[ -e $service_policy ]]; then
        apt_install "$@"
        return
    fi
    local before added=()
    before=$(enabled_units)
    with_file "$service_policy" $'#!/bin/sh\nexit 101' apt_install "$@"
    mapfile -t added < <(LC_ALL=C comm -13 <(echo "$before") <(enabled_units))
    if ((${#added[@]})); then as_root systemctl --quiet disable "${added[@]}"; fi
}

# Prints the units that systemd starts by itself, sorted.
enabled_units() {
    command -v systemctl >/dev/null || return 0
    systemctl list-unit-files --state=enabled --no-legend --plain | cut -d ' ' -f 1 | LC_ALL=C sort
}

# with_file FILE TEXT COMMAND…: runs the command while the file has this text, and removes the file however the command
# ends. A last line names the process that does so.
with_file() (
    file=$1 text=$2 process=$BASHPID
    shift 2
    trap 'as_root rm -f "$file"' EXIT
    # A signal first lets the command end.
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    printf '%s\n# Sluice, process %d\n' "$text" "$process" | as_root install -D /dev/stdin "$file"
    "$@"
)

# Removes what with_file left behind when it was killed.
remove_leftovers() {
    local file process
    for file in "$no_main_cluster" "$service_policy"; do
        process=$(sed -n 's/^# Sluice, process //p' "$file" 2>/dev/null) || continue
        if [[ -n $process && ! -e /proc/$process ]]; then as_root rm -f "$file"; fi
    done
}

# Installs what the program needs at build time and at run time.
install_build_packages() {
    install_packages libcurl4-openssl-dev libssl-dev libpq-dev libmicrohttpd-dev libyaml-dev zlib1g-dev pkg-config postgresql-15
    install_packages libjs-chart.js git
}

# Prints the path of the program of a release.
release_program() { printf '%s/sluice\n' "$(swift build "${release_build[@]}" --show-bin-path)"; }

# Builds a release. It says before what comes and how long it took last time, and keeps how long it took now.
build_release() {
    local program kind=again last began=$SECONDS
    program=$(release_program)
    [[ -x $program ]] || kind=clean
    last=$(sed -n "s/^$kind //p" "$release_times" 2>/dev/null) || true
    case $kind in
        clean)
            say "building sluice and the libraries that it contains, on $(nproc) cores. Each line counts what is" \
                "compiled; the largest modules come last and take a minute each." \
                "$(if [[ -n $last ]]; then
                    printf 'The last build from nothing took %s s.' "$last"
                else
                    printf 'Expect five to eight minutes on two cores, and a quarter of an hour on slow ones.'
                fi)"
            ;;
        again) say "building what has changed.${last:+ That took $last s the last time.}" ;;
    esac
    swift build "${release_build[@]}" >&2
    local took=$((SECONDS - began))
    say "built in $took s"
    # A build that had nothing to do says nothing about the next one.
    ((took >= 10)) || return 0
    {
        if [[ -f $release_times ]]; then sed "/^$kind /d" "$release_times"; fi
        printf '%s %d\n' "$kind" "$took"
    } >"$release_times.new"
    mv "$release_times.new" "$release_times"
}

# unreleased SECONDS COMMIT CHANGES: prints what the version of a package ends with if it is not a release: packages of
# later commits sort after it, and the release after all. CHANGES is what `git status --porcelain` prints.
unreleased() {
    printf '~git%s.%s%s' "$(LC_ALL=C date --utc --date="@$1" +%Y%m%d%H%M%S)" "$2" "${3:+.dirty}"
}

# strip_program FROM TO: copies a program without its symbols and what debuggers read.
strip_program() {
    strip --strip-all --remove-section=.comment --remove-section=.note -o "$2" "$1"
    chmod 755 "$2"
}

# Makes the Python environment of the tests: the store Swift, the SDKs of the stores and PyJWT, with which answers are
# compared, and the schemas that ops/ and bills of materials are held to.
ensure_venv() { make_venv "$venv" "$root/script/lib/requirements.txt"; }

# make_venv DIR REQUIREMENTS: makes a Python environment, and makes it again if the requirements have changed.
make_venv() {
    local dir=$1 wanted=$2
    if [[ -x $dir/bin/python ]] && cmp -s "$wanted" "$dir/requirements.txt"; then return 0; fi
    say "making a Python environment in $dir"
    rm -rf "$dir"
    /usr/bin/python3 -m venv "$dir"
    "$dir/bin/pip" install --quiet --disable-pip-version-check -r "$wanted" </dev/null >&2
    cp "$wanted" "$dir/requirements.txt"
}

# Succeeds if something listens on the loopback port.
answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# free_ports COUNT: prints the first of COUNT consecutive free ports, below the range from which the kernel assigns
# ports.
free_ports() {
    local count=$1 base port attempt
    for attempt in {1..50}; do
        base=$((10000 + (RANDOM * 32768 + RANDOM) % 20000))
        for ((port = base; port < base + count; port++)); do
            if answers "$port"; then continue 2; fi
        done
        printf '%d\n' "$base"
        return 0
    done
    die "no $count free ports in a row found in $attempt attempts"
}

# start_process DIR NAME COMMAND…: runs the command in the background, with its output in DIR/log and its id in
# DIR/pids.
start_process() {
    local dir=$1 name=$2
    shift 2
    "$@" >"$dir/log/$name.out" 2>&1 </dev/null &
    printf '%d %s\n' "$!" "$name" >>"$dir/pids"
}

# wait_for_port DIR NAME PORT: returns once the process with that name listens, and fails if it has ended.
wait_for_port() {
    local dir=$1 name=$2 port=$3 pid attempt
    pid=$(awk -v name="$name" '$2 == name { id = $1 } END { print id }' "$dir/pids")
    for attempt in {1..600}; do
        if answers "$port"; then return 0; fi
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    show_logs "$dir"
    die "$name does not listen on port $port (attempt $attempt)"
}

show_logs() {
    local file
    for file in "$1"/log/*; do
        if [[ -s $file ]]; then printf -- '--- %s\n%s\n' "$file" "$(tail -n 15 "$file")" >&2; fi
    done
}

# stop_processes DIR: ends what start_process started there, last one first. A process is recognised by its id and by
# the directory on its command line, because ids are reused.
stop_processes() {
    local dir=$1 pid attempt
    [[ -f $dir/pids ]] || return 0
    for pid in $(tac "$dir/pids" | cut -d ' ' -f 1); do
        is_ours "$pid" "$dir" || continue
        kill "$pid" 2>/dev/null || true
        for attempt in {1..100}; do
            is_ours "$pid" "$dir" || continue 2
            sleep 0.05
        done
        kill -KILL "$pid" 2>/dev/null || true
    done
    rm -f "$dir/pids"
}

# stop_store DIR: ends a store and removes its data. It removes only directories in which a store was started.
stop_store() {
    local dir
    dir=$(cd "$1" 2>/dev/null && pwd) || return 0
    [[ -d $dir/log ]] || die "$dir holds no store"
    stop_processes "$dir"
    rm -rf "$dir"
}

random_hex() { od -An -N "$1" -tx1 /dev/urandom | tr -d ' \n'; }

is_ours() { grep -qaF "$2" "/proc/$1/cmdline" 2>/dev/null; }
