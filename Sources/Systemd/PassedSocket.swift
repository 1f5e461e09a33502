import Glibc

/// A socket that whoever started the process opened for it (sd_listen_fds(3)).
public struct PassedSocket: Sendable, Equatable {
    /// The name that `FileDescriptorName=` gives it; empty if it has none.
    public let name: String
    /// Its number in this process.
    public let descriptor: Int32

    /// Finds the sockets that were passed to this process. Programs that it starts do not inherit them.
    ///
    /// - Parameter environment: The environment of the process.
    public static func all(in environment: [String: String]) -> [PassedSocket] {
        guard environment["LISTEN_PID"] == "\(getpid())",
            let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), 1...1_024 ~= count
        else { return [] }
        let names = (environment["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
        return (0..<count).map { place in
            let descriptor = first + place
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            let name = names.indices.contains(Int(place)) ? String(names[Int(place)]) : ""
            return PassedSocket(name: name, descriptor: descriptor)
        }
    }

    /// The number of the first passed descriptor; the others follow it.
    private static let first: Int32 = 3
}
