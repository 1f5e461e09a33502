import Foundation

/// An action on a cluster, carried out by a shell script.
enum ClusterScript: String {
    case create, copy, start, stop, kill, suspend, resume, promote

    /// Runs the script to its end, off the cooperative pool; returns the last line of its output.
    ///
    /// - Parameter source: Connection string of the server that ``copy`` copies.
    @discardableResult
    static func run(
        _ action: ClusterScript, in directory: String, _ options: ClusterOptions, from source: String = ""
    ) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "cluster-script").async {
                continuation.resume(with: Result { try runBlocking(action, in: directory, options, from: source) })
            }
        }
    }

    private static func runBlocking(
        _ action: ClusterScript, in directory: String, _ options: ClusterOptions, from source: String
    ) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = [
            "-c", text, "cluster", action.rawValue, directory, "\(ProcessInfo.processInfo.processIdentifier)",
            options.listensOnTCP ? "127.0.0.1" : "", configuration(options), source,
            options.hasClock ? clock(in: directory) : "",
        ]
        let output = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
        guard process.terminationStatus == 0 else {
            throw TestClusterError(output: lines.joined(separator: "\n"))
        }
        return lines.last.map(String.init) ?? ""
    }

    private static func clock(in directory: String) -> String {
        FakeClock.environment(file: "\(directory)/clock").map { "\($0)=\($1)" }.joined(separator: " ")
    }

    private static func configuration(_ options: ClusterOptions) -> String {
        var settings = [
            "fsync": options.fsync ? "on" : "off",
            "full_page_writes": options.fsync ? "on" : "off",
            "sluice.accepts_loss": options.fsync ? "off" : "on",
            "track_commit_timestamp": options.trackCommitTimestamp ? "on" : "off",
            "max_connections": "400",
            // It would lock tables while tests use them, at no foreseeable time.
            "autovacuum": "off",
            // Queries of tests are too short to compile.
            "jit": "off",
            // Files of the cluster, which are removed with it. What a killed server had in /dev/shm would stay.
            "dynamic_shared_memory_type": "mmap",
            "shared_buffers": "'64MB'",
            "log_line_prefix": "'%m [%p] %d %a '",
            "log_lock_waits": "on",
        ]
        settings.merge(options.settings) { $1 }
        return settings.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)" }.joined(separator: "\n")
    }

    /// Arguments: action, directory, process that the cluster must not outlive, address to listen on, lines for
    /// `postgresql.conf`, server to copy, variables of the server's environment.
    private static let text = #"""
        \#(WatcherScript.functions)
        set -eu
        action=$1 directory=$2 owner=$3 address=$4 settings=$5 source=$6 clock=$7
        bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
        data=$directory/data

        # PostgreSQL refuses to run as root.
        unprivileged() {
            if [ "$(id -u)" = 0 ]; then
                setpriv --reuid=postgres --regid=postgres --init-groups -- env -C / "$@"
            else
                "$@"
            fi
        }

        # The processes of the server in a directory: each has its data as working directory.
        processes() {
            for process in /proc/[0-9]*; do
                if [ "$process/cwd" -ef "$1/data" ]; then echo "${process##*/}"; fi
            done
        }

        kill_all() {
            local all
            for round in $(seq 100); do
                all=$(processes "$1")
                if [ -z "$all" ]; then return; fi
                kill -KILL $all 2>/dev/null || true
                sleep 0.05
            done
            echo "processes of $1 do not end: $all"
            return 1
        }

        # A port is free if the server can listen on it; without TCP every port is.
        start() {
            for round in $(seq 30); do
                if [ -s "$directory/port" ]; then
                    port=$(cat "$directory/port")
                elif [ -n "$address" ]; then
                    port=$((20000 + RANDOM % 12000))
                else
                    port=5432
                fi
                if (
                    close_inherited
                    unprivileged env $clock "$bin/pg_ctl" -s -w -t 60 -D "$data" -l "$directory/log" \
                        -o "-p $port -k $directory -c listen_addresses='$address'" start
                ) </dev/null >/dev/null 2>&1; then
                    echo "$port" >"$directory/port"
                    return
                fi
                sleep 0.1
            done
            tail -n 20 "$directory/log"
            return 1
        }

        make_directory() {
            rm -rf "$directory"
            mkdir -m 700 "$directory"
            if [ "$(id -u)" = 0 ]; then chown postgres: "$directory"; fi
        }

        # Outlives the owner, however that ends, and then clears away.
        clear_after_owner() {
            (
                close_inherited
                wait_for_end "$owner"
                kill_all "$directory"
                rm -rf "$directory"
            ) </dev/null >/dev/null 2>&1 &
        }

        # The postmaster first, so that it starts no process that the signal misses.
        signal_all() {
            local process
            kill "$1" "$(head -n 1 "$data/postmaster.pid")"
            for process in $(processes "$directory"); do kill "$1" "$process" 2>/dev/null || true; done
        }

        case $action in
        create)
            for stale in "${directory%/*}"/sluice-test-*; do
                number=${stale##*/sluice-test-}
                if [ -d "$stale" ] && [ ! -d "/proc/${number%%-*}" ]; then
                    kill_all "$stale"
                    rm -rf "$stale"
                fi
            done
            make_directory
            unprivileged "$bin/initdb" -D "$data" -U postgres --auth=trust --locale=C.UTF-8 -E UTF8 --no-sync \
                --no-instructions >/dev/null
            printf '%s\n' "$settings" >>"$data/postgresql.conf"
            clear_after_owner
            echo +0 >"$directory/clock"
            start
            cat "$directory/port"
            ;;
        copy)
            make_directory
            unprivileged "$bin/pg_basebackup" -d "$source" -D "$data" -R -X stream -c fast --no-sync >/dev/null
            clear_after_owner
            start
            cat "$directory/port"
            ;;
        start)
            start
            ;;
        stop)
            unprivileged "$bin/pg_ctl" -s -w -D "$data" -m fast stop >/dev/null 2>&1
            ;;
        kill)
            kill_all "$directory"
            ;;
        suspend)
            signal_all -STOP
            ;;
        resume)
            signal_all -CONT
            ;;
        promote)
            unprivileged "$bin/pg_ctl" -s -w -t 60 -D "$data" promote
            ;;
        esac
        """#
}
