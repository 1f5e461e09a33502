import Foundation

/// A separate clock for a process, by Debian's `libfaketime`.
public enum FakeClock {
    #if arch(arm64)
        private static let machine = "aarch64"
    #else
        private static let machine = "x86_64"
    #endif
    private static let library = "/usr/lib/\(machine)-linux-gnu/faketime/libfaketimeMT.so.1"

    /// Whether the library is installed.
    public static var isThere: Bool { FileManager.default.fileExists(atPath: library) }

    /// The environment of a process whose clock is `seconds` ahead of this machine's, or behind it where negative.
    /// Durations are not changed.
    public static func environment(ahead seconds: Int) -> [String: String] {
        base.merging(["FAKETIME": text(ahead: seconds)]) { $1 }
    }

    /// The environment of a process whose clock follows a file, now and later.
    static func environment(file: String) -> [String: String] {
        base.merging(["FAKETIME_TIMESTAMP_FILE": file, "FAKETIME_NO_CACHE": "1"]) { $1 }
    }

    private static var base: [String: String] { ["LD_PRELOAD": library, "FAKETIME_DONT_FAKE_MONOTONIC": "1"] }

    static func text(ahead seconds: Int) -> String {
        seconds < 0 ? "\(seconds)" : "+\(seconds)"
    }
}
