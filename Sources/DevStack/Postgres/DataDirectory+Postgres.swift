import FoundationEssentials

extension DataDirectory {
    /// The subdirectory that PostgreSQL's user owns.
    var postgres: String { "\(path)/postgres" }

    /// Creates the directory, unless it exists. PostgreSQL's user can enter a new one whatever the umask; what is made
    /// in it is private.
    ///
    /// - Throws: ``EmbeddedPostgresError/unusableDirectory(directory:reason:)``.
    func make() async throws {
        guard !FileManager.default.fileExists(atPath: path) else { return }
        let made = try await Command(["/usr/bin/install", "-d", "-m", "0755", path]).run()
        guard made.succeeded else {
            throw EmbeddedPostgresError.unusableDirectory(directory: path, reason: made.output)
        }
    }
}
