import Foundation
import Glibc

/// A name server on a loopback address that receives every question and answers none, for the lifetime of the object.
final class SilentNameServer: Sendable {
    private let socket: Int32
    private let file: URL

    /// Listens on port 53, since a system's list of name servers has no ports; `nil` where that is not permitted.
    init?() {
        let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let socket = Glibc.socket(AF_INET, kind, 0)
        let host = (1...3).map { _ in UInt32.random(in: 1...254) }.reduce(127) { $0 << 8 | $1 }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(53).bigEndian
        address.sin_addr.s_addr = host.bigEndian
        let isBound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        file = FileManager.default.temporaryDirectory.appending(path: "sluice-resolv-\(UUID().uuidString)")
        let digits = stride(from: 24, through: 0, by: -8).map { "\(host >> UInt32($0) & 255)" }
        let line = "nameserver \(digits.joined(separator: "."))\n"
        guard isBound, (try? Data(line.utf8).write(to: file)) != nil else {
            close(socket)
            return nil
        }
        self.socket = socket
    }

    deinit {
        close(socket)
        try? FileManager.default.removeItem(at: file)
    }

    /// A command that becomes a program that asks only this name server, when the program's command is appended to it.
    var command: [String] { Self.command(file.path(percentEncoded: false)) }

    private static func command(_ file: String) -> [String] {
        let user = geteuid() == 0 ? [] : ["--map-root-user"]
        let script = #"mount --bind "$1" /etc/resolv.conf && shift && exec "$@""#
        return ["/usr/bin/unshare", "--mount"] + user + ["/bin/bash", "-c", script, "launcher", file]
    }

    /// Whether this machine permits such a name server.
    static let isPossible: Bool = {
        guard let server = SilentNameServer() else { return false }
        let process = Process()
        process.executableURL = URL(filePath: server.command[0])
        process.arguments = Array(server.command.dropFirst()) + ["/bin/true"]
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()
}
