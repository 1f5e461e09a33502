import FoundationEssentials

/// The programs of one PostgreSQL server release on this machine.
struct PostgresInstallation: Sendable, Equatable {
    /// The oldest release that the gateway's SQL supports.
    static let oldestVersion = 15

    /// The directory that contains `initdb`, `pg_ctl` and `postgres`.
    let binaryDirectory: String
    /// Major version, such as 15.
    let version: Int

    /// Finds installations: one per major version in Debian's directory, newest first, then those in `searchPath`.
    ///
    /// - Parameters:
    ///   - debianDirectory: Debian's directory, which has a subdirectory named after the major version for each
    ///     release.
    ///   - searchPath: Directories separated by colons, as in `PATH`.
    /// - Returns: All installations of a supported release.
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

    /// Chooses the installation for a cluster.
    ///
    /// - Parameters:
    ///   - clusterVersion: Major version that created the cluster; `nil` if the cluster does not exist yet.
    ///   - directory: Directory of the cluster, for the error message.
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

    /// Returns the path of one of the programs.
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
