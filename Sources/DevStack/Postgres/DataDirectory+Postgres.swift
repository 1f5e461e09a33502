extension DataDirectory {
    /// The subdirectory that PostgreSQL's user owns.
    var postgres: String { "\(path)/postgres" }

    /// Creates the directory. PostgreSQL's user can enter it whatever the umask; its contents are private.
    ///
    /// - Throws: ``EmbeddedPostgresError/unusableDirectory(directory:reason:)``.
    func make() async throws {
        let made = try await Command(["/usr/bin/install", "-d", "-m", "0755", path]).run()
        guard made.succeeded else {
            throw EmbeddedPostgresError.unusableDirectory(directory: path, reason: made.output)
        }
    }
}
