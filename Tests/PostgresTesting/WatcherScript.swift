/// Shell functions of the children that watch whether a process still runs, and clear up after it.
public enum WatcherScript {
    /// `close_inherited`, and `wait_for_end PROCESS…`, which returns when one of the processes has ended.
    public static let functions = #"""
        # Foundation takes a process for running as long as any descendant holds the socket that it inherited.
        close_inherited() {
            local descriptor
            for descriptor in /proc/self/fd/*; do
                descriptor=${descriptor##*/}
                if [ "$descriptor" -gt 2 ]; then eval "exec $descriptor>&-"; fi
            done
        }

        # Sleeps by `read` from a pipe into which nobody writes: `sleep` is a process of its own each time, and there
        # are many watchers.
        wait_for_end() {
            local never process
            exec {never}<> <(:)
            while true; do
                for process in "$@"; do
                    if [ ! -d "/proc/$process" ]; then return 0; fi
                done
                read -rt 0.5 -u "$never" || true
            done
        }
        """#
}
