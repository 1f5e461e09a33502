import Bytes
import LibCrypto
import LibPQ

/// The migrations and functions in a database or in a program.
struct SchemaState: Sendable, Equatable {
    /// A row of `schema_migrations`.
    struct AppliedMigration: Sendable, Equatable {
        let version: Int32
        let name: String
        /// SHA-256 of the file.
        let checksum: [UInt8]
        /// Whether gateways of the version before cannot serve after it.
        let isContract: Bool
        /// The schema version from which on a gateway may serve once this migration and those before it are applied.
        let servesFrom: Int32
    }

    /// A row of `schema_functions`.
    struct AppliedFunction: Sendable, Equatable {
        let name: String
        /// SHA-256 of the file.
        let checksum: [UInt8]
        /// SHA-256 of what callers rely on: ``SchemaFunction/declaration``.
        let contract: [UInt8]
        /// Whether `sluice migrate` of a program without this function has run, so that `--finish` drops it.
        let isSuperseded: Bool
    }

    /// Applied migrations, ordered by version.
    let migrations: [AppliedMigration]
    /// Applied functions, ordered by name.
    let functions: [AppliedFunction]

    /// The state that this program carries.
    static let carried = SchemaState(Migration.all, SchemaFunction.all)

    /// Makes the state of a database that has exactly these migrations and functions.
    init(_ migrations: [Migration], _ functions: [SchemaFunction]) {
        var servesFrom: Int32 = 0
        self.migrations = migrations.map { migration in
            if case .contract(let version) = migration.kind { servesFrom = max(servesFrom, version) }
            return AppliedMigration(
                version: migration.version, name: migration.name, checksum: Self.checksum(migration.sql),
                isContract: migration.kind != .expand, servesFrom: servesFrom)
        }
        self.functions = functions.map {
            AppliedFunction(
                name: $0.name, checksum: Self.checksum($0.sql), contract: $0.contract, isSuperseded: false)
        }
        .sorted { $0.name.precedesInBytes($1.name) }
    }

    private static func checksum(_ bytes: [UInt8]) -> [UInt8] {
        DigestAlgorithm.sha256.digest(of: bytes).bytes
    }

    /// The highest migration; 0 if there is none.
    var version: Int32 { migrations.last?.version ?? 0 }

    /// The schema version from which on a gateway may serve; 0 if there is no migration.
    var servesFrom: Int32 { migrations.last?.servesFrom ?? 0 }

    /// The migration that a database must have for a program with this state: the last one that expands. Those after it
    /// only remove what this program does not need.
    var neededVersion: Int32 { migrations.last { !$0.isContract }?.version ?? 0 }

    /// SHA-256 of the contracts of all functions. Two programs with the same set call the same functions.
    var functionSet: [UInt8] { DigestAlgorithm.sha256.digest(of: functions.flatMap(\.contract)).bytes }

    /// Returns why a gateway with this state does not fit a database; `nil` if it does.
    ///
    /// The database may have later migrations, as long as they only expand, other bodies of functions, and functions
    /// that this program does not know.
    func misfit(of database: SchemaState) -> Migrator.Failure? {
        if let failure = edit(in: database) { return failure }
        if database.servesFrom > version {
            return .programIsOlder(version: Int(version), servesFrom: Int(database.servesFrom))
        }
        if lacksExpansion(database) {
            return .schemaIsOlder(version: Int(database.version), needed: Int(neededVersion))
        }
        let names = functions.filter { own in
            !database.functions.contains { $0.name == own.name && $0.contract == own.contract }
        }
        return names.isEmpty ? nil : .functionsMissing(names: names.map(\.name))
    }

    /// Returns why a program with this state cannot migrate a database; `nil` if it can.
    func obstacle(in database: SchemaState) -> Migrator.Failure? {
        if database.version > version { return .schemaIsNewer(version: Int(database.version), known: Int(version)) }
        if let failure = edit(in: database) { return failure }
        let names = functions.filter { own in
            database.functions.contains { $0.name == own.name && $0.contract != own.contract }
        }
        return names.isEmpty ? nil : .contractsDiffer(names: names.map(\.name))
    }

    /// Returns the migration, up to this state's version, that a database has in another form.
    private func edit(in database: SchemaState) -> Migrator.Failure? {
        let edited = database.migrations.last { $0.version <= version && !migrations.contains($0) }
        return edited.map { .checksumDiffers(version: Int($0.version)) }
    }

    /// Whether a database lacks a migration that a program with this state relies on.
    func lacksExpansion(_ database: SchemaState) -> Bool {
        migrations.contains { !$0.isContract && !database.migrations.contains($0) }
    }

    /// Lists migrations that wait in a database until nobody needs what they remove.
    func waitingContracts(in database: SchemaState) -> [AppliedMigration] {
        migrations.filter { $0.version > neededVersion && !database.migrations.contains($0) }
    }

    /// Lists the functions that a database lacks, has with another body, or was about to drop.
    ///
    /// - Parameter dropped: Names that the database has on record, although no such function exists.
    func functionsToApply(in database: SchemaState, dropped: [String]) -> [AppliedFunction] {
        functions.filter { !database.functions.contains($0) || dropped.contains($0.name) }
    }

    /// Lists the functions of a database that this state does not have.
    func strangers(in database: SchemaState) -> [AppliedFunction] {
        database.functions.filter { row in !functions.contains { $0.name == row.name } }
    }
}

// MARK: - SQL

extension SchemaState {
    /// Columns that hold the state of a database, for a `SELECT` list.
    static let columns = """
        ARRAY(SELECT m.version FROM schema_migrations m ORDER BY m.version),
        ARRAY(SELECT m.name FROM schema_migrations m ORDER BY m.version),
        ARRAY(SELECT m.checksum FROM schema_migrations m ORDER BY m.version),
        ARRAY(SELECT m.kind FROM schema_migrations m ORDER BY m.version),
        ARRAY(SELECT m.serves_from FROM schema_migrations m ORDER BY m.version),
        ARRAY(SELECT f.name FROM schema_functions f ORDER BY f.name),
        ARRAY(SELECT f.checksum FROM schema_functions f ORDER BY f.name),
        ARRAY(SELECT f.contract FROM schema_functions f ORDER BY f.name),
        ARRAY(SELECT f.superseded_at IS NOT NULL FROM schema_functions f ORDER BY f.name)
        """

    /// Reads ``columns`` from a row, starting at the column with index `first`.
    init(_ row: borrowing PostgresRow, from first: Int) throws(PostgresError) {
        let versions = try row.decode(first, as: [Int32].self)
        let names = try row.decode(first + 1, as: [String].self)
        let checksums = try row.decode(first + 2, as: [[UInt8]].self)
        let kinds = try row.decode(first + 3, as: [String].self)
        let servesFrom = try row.decode(first + 4, as: [Int32].self)
        let functions = try row.decode(first + 5, as: [String].self)
        let functionChecksums = try row.decode(first + 6, as: [[UInt8]].self)
        let contracts = try row.decode(first + 7, as: [[UInt8]].self)
        let areSuperseded = try row.decode(first + 8, as: [Bool].self)
        guard
            [names.count, checksums.count, kinds.count, servesFrom.count].allSatisfy({ $0 == versions.count }),
            [functionChecksums.count, contracts.count, areSuperseded.count].allSatisfy({ $0 == functions.count })
        else { throw .decoding(column: first, reason: "arrays of different lengths") }
        migrations = versions.indices.map {
            AppliedMigration(
                version: versions[$0], name: names[$0], checksum: checksums[$0], isContract: kinds[$0] == "contract",
                servesFrom: servesFrom[$0])
        }
        self.functions = functions.indices.map {
            AppliedFunction(
                name: functions[$0], checksum: functionChecksums[$0], contract: contracts[$0],
                isSuperseded: areSuperseded[$0])
        }
    }

    /// A condition that is true in a database that a gateway with this state fits, apart from the checksums of
    /// migrations.
    ///
    /// It is computed from the rows themselves, because a stored copy of their digest could differ.
    var condition: String {
        let contracts = functions.map { "\"\\\\x\(Hex.encode($0.contract))\"" }.joined(separator: ",")
        return """
            (
                SELECT max(m.version) >= \(neededVersion) AND max(m.serves_from) <= \(version) FROM schema_migrations m
            ) AND (
                SELECT count(*) FROM schema_functions f WHERE f.contract = ANY ('{\(contracts)}'::bytea[])
            ) = \(functions.count)
            """
    }
}
