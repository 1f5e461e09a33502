import Glibc

/// Does the same work so many times and prints nanoseconds of processor time for one, which other programs of the
/// machine disturb least: `Microbenchmarks WORKLOAD COUNT [PEM]`. Without arguments it lists the workloads.
@main
struct Microbenchmarks {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let name = arguments.first else {
            for name in SigningWorkloads.names + DecisionWorkloads.names { print(name) }
            return
        }
        guard arguments.count >= 2, let count = Int(arguments[2]), count > 0 else {
            throw UsageError(description: "Microbenchmarks [WORKLOAD COUNT [PEM]]")
        }
        let work = try Self.work(name, privateKey: arguments.count > 2 ? arguments[3] : "")
        var results = 0
        // The first ones fill caches of keys and of implementations.
        for _ in 0..<min(count, 1000) { results += try work() }
        let start = clock()
        for _ in 0..<count { results += try work() }
        let nanoseconds = Double(clock() - start) * 1e9 / Double(CLOCKS_PER_SEC)
        guard results > 0 else { throw UsageError(description: "\(name) did nothing") }
        print(nanoseconds / Double(count))
    }

    /// The work of a name; each run answers a number above zero.
    private static func work(_ name: String, privateKey: String) throws -> () throws -> Int {
        if DecisionWorkloads.names.contains(name) { return try DecisionWorkloads.work(name) }
        guard SigningWorkloads.names.contains(name) else { throw UsageError(description: "no workload '\(name)'") }
        let parts = name.split(separator: "/")
        let scheme = try SigningWorkloads(scheme: String(parts[0]), privateKey: privateKey)
        return parts[1] == "url" ? scheme.url : scheme.hashes
    }
}

/// How the program wants to be called.
struct UsageError: Error, CustomStringConvertible {
    let description: String
}
