# Runs the blocks of a page of the documentation in one shell, each twice, in a network of its own.
#
# Arguments: what the page presupposes (dev, file, deployment, settings), an empty directory with the blocks in
# `blocks/`, the program. A block whose name ends with `.once` runs once; one that ends with `.json` is settings.
#
# The functions below stand in for what readers have around the page, such as a second terminal. They change no text.
set -euo pipefail
world=$1 root=$2 program=$3
PATH=$(dirname "$program"):$PATH:/usr/sbin
ip link set lo up
mkdir "$root/home" "$root/work"
export HOME=$root/home PATH
unset XDG_STATE_HOME no_proxy
# Nothing listens there. What is on this machine, and what has the name, is asked for directly.
export http_proxy=http://127.0.0.1:1 NO_PROXY=sluice.test
{ cat /etc/hosts; echo '127.0.0.1 sluice.test'; } >"$root/hosts"
mount --bind "$root/hosts" /etc/hosts
cd "$root/work"

# Waits until a command succeeds, for a process in the background whose log is in a file.
wait_for() {
    local process=$1 log=$2
    shift 2
    for _ in {1..600}; do
        if "$@" >"$root/waiting" 2>&1; then return; fi
        kill -0 "$process" 2>/dev/null || break
        sleep 0.1
    done
    cat "$log" >&2
    return 1
}

# PostgreSQL refuses to run as root.
unprivileged() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=postgres --regid=postgres --init-groups -- env -C / "$@"
    else
        "$@"
    fi
}

start_postgres() {
    local bin data=$root/postgres
    bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
    mkdir -m 700 "$data"
    if [ "$(id -u)" = 0 ]; then chown postgres: "$data"; fi
    unprivileged "$bin/initdb" -D "$data" -U postgres --auth=trust --no-sync --no-instructions >/dev/null
    unprivileged "$bin/pg_ctl" -s -w -D "$data" -l "$data/log" -o "-h 127.0.0.1 -k $data" start
}

start_dev() {
    command sluice dev --data-dir "$root/dev" >"$root/dev-output" 2>"$root/dev-errors" &
    wait_for $! "$root/dev-errors" grep Ctrl-C "$root/dev-output"
    # The addresses are as at a gateway of the reader's own, by name.
    source <(sed -n '/^export SLUICE_/ { s|//127[.]0[.]0[.]1:|//sluice.test:|; p }' "$root/dev-output")
}

# A terminal of its own for 'sluice serve'.
sluice() {
    if [ "$*" != serve ]; then
        command sluice "$@"
    else
        command sluice serve >"$root/serve" 2>&1 &
        wait_for $! "$root/serve" curl --noproxy 127.0.0.1 --fail --silent http://127.0.0.1:8081/readyz
    fi
}

# As the superuser of PostgreSQL. A statement that fails ends the block.
psql() { command psql -h 127.0.0.1 -U postgres -v ON_ERROR_STOP=1 "$@"; }

case $world in
dev)
    start_dev
    ;;
file)
    start_dev
    mkdir -p "$HOME/.config/sluice"
    printf '%s\n' "$SLUICE_ADMIN_KEY" >"$HOME/.config/sluice/key"
    unset SLUICE_ADMIN_KEY
    ;;
deployment)
    start_postgres
    # The token of a user, signed by nobody.
    printf %s eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmVk >token.jwt
    ;;
settings)
    export SLUICE_MASTER_KEY=$(openssl rand -base64 32)
    ;;
esac

for block_of_page in "$root"/blocks/*; do
    printf '\n=== %s\n' "${block_of_page##*/}"
    case $block_of_page in
    *.json) sluice doctor --config "$block_of_page" --json || true ;;
    *.once) source "$block_of_page" ;;
    *)
        source "$block_of_page"
        printf '\n=== again\n'
        source "$block_of_page"
        ;;
    esac
done
printf '\n=== end\n'
