import LibCrypto
import LibPQ

/// The migrations and functions in a database or in a program, by their checksums.
struct SchemaState: Sendable, Equatable {
    /// A row of `schema_migrations`.
    struct AppliedMigration: Sendable, Equatable {
        let version: Int32
        let name: String
        /// SHA-256 of the file.
        let checksum: [UInt8]
    }

    /// A row of `schema_functions`.
    struct AppliedFunction: Sendable, Equatable {
        let name: String
        /// SHA-256 of the file.
        let checksum: [UInt8]
    }

    /// Applied migrations, ordered by version.
    let migrations: [AppliedMigration]
    /// Applied functions, ordered by name.
    let functions: [AppliedFunction]

    /// The state that this program carries.
    static let carried = SchemaState(Migration.all, SchemaFunction.all)

    /// Makes the state of a database that has exactly these migrations and functions.
    init(_ migrations: [Migration], _ functions: [SchemaFunction]) {
        self.migrations = migrations.map {
            AppliedMigration(version: $0.version, name: $0.name, checksum: Self.checksum($0.sql))
        }
        self.functions = functions.map { AppliedFunction(name: $0.name, checksum: Self.checksum($0.sql)) }
            .sorted { $0.name.precedesInBytes($1.name) }
    }

    private static func checksum(_ bytes: [UInt8]) -> [UInt8] {
        DigestAlgorithm.sha256.digest(of: bytes).bytes
    }

    /// Returns why a program with this state does not fit a database; `nil` if it does.
    func misfit(of database: SchemaState) -> Migrator.Failure? {
        if let failure = obstacle(in: database) { return failure }
        guard database.migrations.count == migrations.count else {
            return .schemaIsOlder(
                version: Int(database.migrations.last?.version ?? 0), needed: Int(migrations.last?.version ?? 0))
        }
        let names = differingFunctions(in: database)
        return names.isEmpty ? nil : .functionsDiffer(names: names)
    }

    /// Returns why a program with this state cannot migrate a database; `nil` if it can.
    func obstacle(in database: SchemaState) -> Migrator.Failure? {
        for row in database.migrations.reversed() {
            guard let own = migrations.first(where: { $0.version == row.version }) else {
                return .schemaIsNewer(version: Int(row.version), known: Int(migrations.last?.version ?? 0))
            }
            guard own == row else { return .checksumDiffers(version: Int(row.version)) }
        }
        return nil
    }

    /// Lists the functions that a database lacks, has in another form, or has in addition to these.
    func differingFunctions(in database: SchemaState) -> [String] {
        let changed = functions.filter { !database.functions.contains($0) }.map(\.name)
        let gone = database.functions.map(\.name).filter { name in !functions.contains { $0.name == name } }
        return changed + gone
    }
}

// MARK: - SQL

extension SchemaState {
    /// Columns that hold the state of a database, for a `SELECT` list.
    static let columns = """
        ARRAY(SELECT m.version FROM schema_migrations m ORDER BY m.version),
        ARRAY(SELECT m.name FROM schema_migrations m ORDER BY m.version),
        ARRAY(SELECT m.checksum FROM schema_migrations m ORDER BY m.version),
        ARRAY(SELECT f.name FROM schema_functions f ORDER BY f.name),
        ARRAY(SELECT f.checksum FROM schema_functions f ORDER BY f.name)
        """

    /// Reads ``columns`` from a row, starting at the column with index `first`.
    init(_ row: borrowing PostgresRow, from first: Int) throws(PostgresError) {
        let versions = try row.decode(first, as: [Int32].self)
        let names = try row.decode(first + 1, as: [String].self)
        let checksums = try row.decode(first + 2, as: [[UInt8]].self)
        let functions = try row.decode(first + 3, as: [String].self)
        let functionChecksums = try row.decode(first + 4, as: [[UInt8]].self)
        guard versions.count == names.count, names.count == checksums.count, functions.count == functionChecksums.count
        else { throw .decoding(column: first, reason: "arrays of different lengths") }
        migrations = versions.indices.map {
            AppliedMigration(version: versions[$0], name: names[$0], checksum: checksums[$0])
        }
        self.functions = functions.indices.map {
            AppliedFunction(name: functions[$0], checksum: functionChecksums[$0])
        }
    }

    /// A condition that is true in a database with exactly these migrations and functions.
    ///
    /// It costs about 15 µs. It is computed from the rows themselves, because a stored copy of their digest could
    /// differ.
    var condition: String {
        let versions = migrations.map { "\($0.version)" }.joined(separator: ",")
        let digest = DigestAlgorithm.sha256.digest(of: functions.flatMap(\.checksum))
        return """
            ARRAY(SELECT m.version FROM schema_migrations m ORDER BY m.version) = '{\(versions)}'::integer[]
            AND (SELECT sha256(string_agg(f.checksum, '' ORDER BY f.name)) FROM schema_functions f)
                = '\\x\(digest.hex)'::bytea
            """
    }
}
