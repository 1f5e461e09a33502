import FoundationEssentials
import Glibc
import LocalFiles

/// What the system knows of this process, by proc(5).
struct ProcessFigures {
    /// The fields of `/proc/self/stat` that metrics show.
    struct Status {
        /// Time of processors that the process used.
        let processorSeconds: Double
        let threads: Double
        let virtualBytes: Double
        let residentBytes: Double

        /// Reads the fields; `nil` where the text has another form.
        init?(_ stat: String, ticksPerSecond: Double, pageBytes: Double) {
            // The name of the program, in parentheses, may contain anything.
            guard let end = stat.utf8.lastIndex(of: UInt8(ascii: ")")) else { return nil }
            let fields = stat[stat.utf8.index(after: end)...].utf8
                .split(separator: UInt8(ascii: " ")).map { Double(String(Substring($0))) ?? 0 }
            guard fields.count > 21 else { return nil }
            // The first of these fields is the third of the manual.
            processorSeconds = (fields[11] + fields[12]) / ticksPerSecond
            threads = fields[17]
            virtualBytes = fields[20]
            residentBytes = fields[21] * pageBytes
        }
    }

    /// When these figures were made, soon after the process started, in seconds since 1970. When the system started,
    /// which `/proc` counts from, a process may not read under the packaged unit.
    let startedAt = Date.now.timeIntervalSince1970

    /// The present state.
    var status: Status? { Self.readStatus() }

    /// Number of files that the process has open.
    var openFiles: Double? {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")).map { Double($0.count) }
    }

    /// Number of files that the process may have open.
    var maxOpenFiles: Double? {
        let name = "Max open files"
        return Self.lines(of: "/proc/self/limits").first { $0.utf8.starts(with: name.utf8) }
            .flatMap { $0.dropFirst(name.utf8.count).split(separator: " ").first }
            .flatMap { $0 == "unlimited" ? .infinity : Double(String($0)) }
    }

    private static func readStatus() -> Status? {
        Status(
            text(of: "/proc/self/stat"), ticksPerSecond: Double(sysconf(Int32(_SC_CLK_TCK))),
            pageBytes: Double(sysconf(Int32(_SC_PAGESIZE))))
    }

    private static func lines(of path: String) -> [Substring] {
        text(of: path).split(separator: "\n")
    }

    private static func text(of path: String) -> String {
        let bytes = try? OpenFile(path, for: .reading).readToEnd()
        return String(decoding: bytes ?? [], as: UTF8.self)
    }
}
