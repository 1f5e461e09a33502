import Glibc

/// Signs the same upload so many times, or does only the hash work of it: `SigningBenchmark SCHEME url|hashes COUNT [PEM]`.
/// Prints nanoseconds of processor time for one, which other programs of the machine disturb least. What `script/bench --parts signing` runs.
@main
struct SigningBenchmark {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count >= 3, let count = Int(arguments[3]), count > 0 else {
            throw UsageError(
                description: "SigningBenchmark \(Workload.names.joined(separator: "|")) url|hashes COUNT [PEM]")
        }
        let workload = try Workload(scheme: arguments[1], privateKey: arguments.count > 3 ? arguments[4] : "")
        var bytes = 0
        // The first ones fill caches of keys and of implementations.
        for _ in 0..<min(count, 1000) { bytes += try workload.url() }
        let start = clock()
        switch arguments[2] {
        case "url": for _ in 0..<count { bytes += try workload.url() }
        case "hashes": for _ in 0..<count { bytes += try workload.hashes() }
        default: throw UsageError(description: "either url or hashes")
        }
        let nanoseconds = Double(clock() - start) * 1e9 / Double(CLOCKS_PER_SEC)
        guard bytes > 0 else { throw UsageError(description: "nothing was signed") }
        print(nanoseconds / Double(count))
    }
}

/// How the program wants to be called.
struct UsageError: Error, CustomStringConvertible {
    let description: String
}
