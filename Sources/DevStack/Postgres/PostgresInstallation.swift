import Foundation

/// The programs of one PostgreSQL server release on this machine.
struct PostgresInstallation: Sendable, Equatable {
    /// The oldest release that the gateway's SQL runs on.
    static let oldestVersion = 15

    /// Directory of `initdb`, `pg_ctl` and `postgres`.
    let binaryDirectory: String
    /// Major version, for example 15.
    let version: Int

    /// Looks for installations: one per major version in Debian's directory, newest first, then those on the path.
    ///
    /// - Parameters:
    ///   - debianDirectory: Where Debian keeps each release, in a directory named after its number.
    ///   - searchPath: Directories separated by colons, as in `PATH`.
    /// - Returns: Every installation that is new enough.
    static func all(debianDirectory: String, searchPath: String) async -> [PostgresInstallation] {
        let releases = (try? FileManager.default.contentsOfDirectory(atPath: debianDirectory)) ?? []
        var found = releases.compactMap(Int.init).sorted(by: >).map { version in
            PostgresInstallation(binaryDirectory: "\(debianDirectory)/\(version)/bin", version: version)
        }
        for directory in searchPath.split(separator: ":").map(String.init) where directory.hasPrefix("/") {
            if let version = await version(ofServerIn: directory) {
                found.append(PostgresInstallation(binaryDirectory: directory, version: version))
            }
        }
        return found.filter { $0.version >= oldestVersion && $0.isComplete }
    }

    /// Picks the installation for a cluster.
    ///
    /// - Parameters:
    ///   - clusterVersion: Major version that made the cluster; `nil` for one that is yet to be made.
    ///   - directory: Directory of the cluster, for the error.
    /// - Throws: ``EmbeddedPostgresError/notInstalled`` or
    ///   ``EmbeddedPostgresError/wrongVersion(cluster:installed:directory:)``.
    static func choose(
        from installations: [PostgresInstallation], clusterVersion: Int?, directory: String
    ) throws(EmbeddedPostgresError) -> PostgresInstallation {
        guard let newest = installations.first else { throw .notInstalled }
        guard let clusterVersion else { return newest }
        guard let matching = installations.first(where: { $0.version == clusterVersion }) else {
            throw .wrongVersion(
                cluster: clusterVersion, installed: installations.map(\.version), directory: directory)
        }
        return matching
    }

    /// Path of one of the programs.
    func path(of program: String) -> String {
        "\(binaryDirectory)/\(program)"
    }

    private var isComplete: Bool {
        ["initdb", "pg_ctl", "postgres"].allSatisfy { FileManager.default.isExecutableFile(atPath: path(of: $0)) }
    }

    private static func version(ofServerIn directory: String) async -> Int? {
        let program = "\(directory)/postgres"
        guard FileManager.default.isExecutableFile(atPath: program),
            let answer = try? await Command([program, "--version"]).run(), answer.succeeded,
            let number = answer.output.split(separator: " ").first(where: { $0.first?.isNumber == true })
        else { return nil }
        return Int(number.prefix { $0.isNumber })
    }
}
