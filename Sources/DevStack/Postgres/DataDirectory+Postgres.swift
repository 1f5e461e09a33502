extension DataDirectory {
    /// The part that PostgreSQL's user owns.
    var postgres: String { "\(path)/postgres" }

    /// Creates the directory, open to PostgreSQL's user whatever the umask; what it contains is closed.
    ///
    /// - Throws: ``EmbeddedPostgresError/unusableDirectory(directory:reason:)``.
    func make() async throws {
        let made = try await Command(["/usr/bin/install", "-d", "-m", "0755", path]).run()
        guard made.succeeded else {
            throw EmbeddedPostgresError.unusableDirectory(directory: path, reason: made.output)
        }
    }
}
