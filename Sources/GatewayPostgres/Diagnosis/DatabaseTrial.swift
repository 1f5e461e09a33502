public import LibPQ

/// Tries whether a database keeps what the promises rest on. `sluice migrate`, `serve` and `doctor` share it.
///
/// It needs no schema and leaves nothing behind but the number of a transaction.
public struct DatabaseTrial: Sendable {
    private let connection: PostgresConnection
    private let other: PostgresConnection

    /// Number of times that both sessions are asked for their process. A pooler hands out the session that was returned
    /// last, or one after the other; its pool is seldom larger.
    private static let rounds = 32

    /// Creates a trial.
    ///
    /// - Parameters:
    ///   - connection: A connection to the primary, with the settings of a session that records.
    ///   - other: A second connection to the same database, with the same settings.
    public init(_ connection: PostgresConnection, _ other: PostgresConnection) {
        self.connection = connection
        self.other = other
    }

    /// Returns what the database does not keep; empty if all is well.
    ///
    /// - Parameter number: A random number, not negative, that sets this trial apart from others.
    /// - Throws: ``PostgresError`` if a trial could not be made.
    public func flaws(number: Int32) async throws(PostgresError) -> [Flaw] {
        do throws(PostgresError) {
            // The trials of locks and snapshots say nothing if both connections share a session.
            guard try await sessionsAreOwn() else { return [.sessionsAreShared] }
            var flaws: [Flaw] = []
            if try await !locksExclude(number) { flaws.append(.locksDoNotExclude) }
            if try await !commitsAreSeen() { flaws.append(.commitsAreNotSeen) }
            return flaws
        } catch {
            guard let flaw = Flaw(error) else { throw error }
            return [flaw]
        }
    }

    /// Whether each connection keeps a session of its own from one transaction to the next.
    private func sessionsAreOwn() async throws(PostgresError) -> Bool {
        var (own, others): (Set<Int32>, Set<Int32>) = ([], [])
        for _ in 0..<Self.rounds {
            own.formUnion(try await connection.execute(Self.process))
            others.formUnion(try await other.execute(Self.process))
            guard own.count == 1, others.count == 1, own != others else { return false }
        }
        return true
    }

    /// Whether the policy lock would exclude: recordings share it, a change of policy takes it alone.
    ///
    /// The functions are named as in the functions of the schema, so that a search path that hides them shows here.
    private func locksExclude(_ number: Int32) async throws(PostgresError) -> Bool {
        let key = AdvisoryLock.trial.key.replacing("$1", with: "\(number)")
        for (held, tried) in [
            ("pg_advisory_xact_lock", Self.shares), ("pg_advisory_xact_lock_shared", Self.takesAlone),
        ] {
            try await connection.runScript("\(Self.begin); SELECT \(held)(\(key))")
            let isTaken = try await other.execute(tried, number).first ?? true
            try await connection.runScript("ROLLBACK")
            if isTaken { return false }
        }
        return true
    }

    /// Whether a statement of a READ COMMITTED transaction sees what was committed since the statement before.
    private func commitsAreSeen() async throws(PostgresError) -> Bool {
        try await other.runScript("\(Self.begin); SELECT pg_current_snapshot()")
        let committed = try await connection.execute(Self.commit).first ?? ""
        let isSeen = try await other.execute(Self.sees, committed).first ?? false
        try await other.runScript("ROLLBACK")
        return isSeen
    }

    /// The two sessions take turns, so that each transaction is idle for a while.
    private static let begin =
        "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = '30s'"

    static let process = Statement<Void, Int32>("SELECT pg_backend_pid()", onlyReads: true)

    private static let key = AdvisoryLock.trial.key.replacing("$1", with: "$1::integer")

    static let shares = Statement<Int32, Bool>("SELECT pg_try_advisory_xact_lock_shared(\(key))") {
        [$0]
    }

    static let takesAlone = Statement<Int32, Bool>("SELECT pg_try_advisory_xact_lock(\(key))") {
        [$0]
    }

    static let commit = Statement<Void, String>("SELECT pg_current_xact_id()::text", onlyReads: true)

    static let sees = Statement<String, Bool>(
        "SELECT pg_visible_in_snapshot($1::text::xid8, pg_current_snapshot())", onlyReads: true
    ) {
        [$0]
    }
}

extension DatabaseTrial {
    /// A property that the promises need and the database lacks.
    public enum Flaw: Error, Equatable, Sendable {
        /// A pooler lends sessions out for single transactions.
        case sessionsAreShared
        /// Advisory locks do not exclude other sessions.
        case locksDoNotExclude
        /// A statement does not see what was committed before it.
        case commitsAreNotSeen
        /// The server is another one, or an older one.
        case isNotPostgreSQL(reason: String)
        /// The encoding of the database, whose name this is, is not UTF-8.
        case encodingIsNotUTF8(name: String)
        /// `synchronous_commit` is off for the server, the database or the login.
        case commitsDoNotWait
        /// Names of server settings without which a crash loses commits, and which are off.
        case commitsMayBeLost(settings: [String])

        /// Recognizes a flaw by the error of a statement; `nil` if it is another error.
        public init?(_ error: PostgresError) {
            // The answer to another client's statement of the same name.
            if case .decoding = error {
                self = .sessionsAreShared
                return
            }
            switch error.sqlState {
            // duplicate_prepared_statement, invalid_sql_statement_name: another client's statement, or none.
            case "42P05"?, "26000"?: self = .sessionsAreShared
            // undefined_function, feature_not_supported, undefined_object: a setting that it does not know.
            case "42883"?, "0A000"?, "42704"?: self = .isNotPostgreSQL(reason: "\(error)")
            default: return nil
            }
        }

        /// What is wrong, in one sentence.
        public var message: String {
            switch self {
            case .sessionsAreShared: "A pooler shares sessions among clients: a connection does not keep its session."
            case .locksDoNotExclude:
                "Advisory locks do not exclude other sessions, so a revoked grant could still issue."
            case .commitsAreNotSeen:
                "READ COMMITTED does not see later commits, so a revoked grant could still issue."
            case .isNotPostgreSQL(let reason): "The server is not PostgreSQL 15 or later: \(reason)."
            case .encodingIsNotUTF8(let name): "The encoding of the database is \(name), not UTF8."
            case .commitsDoNotWait:
                "synchronous_commit is off for the server, the database or the login: a crash loses issued URLs."
            case .commitsMayBeLost(let settings):
                "The server has \(settings.joined(separator: " and ")) off: a crash loses URLs that were issued."
            }
        }

        /// What to do.
        public var advice: String {
            switch self {
            case .sessionsAreShared: "Connect without a pooler, or set pool_mode = session in PgBouncer."
            case .locksDoNotExclude, .commitsAreNotSeen:
                "Use PostgreSQL itself. Remove functions that hide those of pg_catalog by the search path."
            case .isNotPostgreSQL: "Use PostgreSQL 15 or later."
            case .encodingIsNotUTF8:
                "Object keys are UTF-8. Create the database anew: CREATE DATABASE … OWNER … "
                    + "TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'"
            case .commitsDoNotWait:
                "Reset synchronous_commit: ALTER SYSTEM, ALTER DATABASE and ALTER ROLE … RESET synchronous_commit."
            case .commitsMayBeLost(let settings):
                "Set \(settings.joined(separator: " and ")) to on in postgresql.conf."
            }
        }
    }

    /// Why a database is refused.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// What the database lacks; not empty.
        public let flaws: [Flaw]

        /// Puts the reasons together.
        public init(_ flaws: [Flaw]) { self.flaws = flaws }

        /// One line that names the flaws.
        public var description: String {
            "The database does not keep what the promises need. " + flaws.map(\.message).joined(separator: " ")
        }

        /// What to do about them.
        public var advice: String { flaws.map(\.advice).joined(separator: " ") }
    }

    /// Refuses a database that lacks something.
    ///
    /// - Parameter number: A random number, not negative, that sets this trial apart from others.
    /// - Throws: ``Failure``, or a ``PostgresError`` if a trial could not be made.
    public func check(number: Int32) async throws {
        var flaws = try await flaws(number: number)
        if flaws.isEmpty {
            let facts = try await DatabaseDiagnosis(connection: connection).server()
            flaws = facts.basicFlaws
            flaws += facts.durabilityFlaws.filter { !facts.acceptsLoss || $0 == .commitsDoNotWait }
        }
        guard flaws.isEmpty else { throw Failure(flaws) }
    }
}

extension ServerFacts {
    /// A version or an encoding with which the tables and functions do not work.
    public var basicFlaws: [DatabaseTrial.Flaw] {
        var flaws: [DatabaseTrial.Flaw] = []
        if versionNumber < 150_000 { flaws.append(.isNotPostgreSQL(reason: "its version is \(version)")) }
        if encoding != "UTF8" { flaws.append(.encodingIsNotUTF8(name: encoding)) }
        return flaws
    }

    /// The settings with which a confirmed commit can be lost.
    public var durabilityFlaws: [DatabaseTrial.Flaw] {
        var flaws: [DatabaseTrial.Flaw] = []
        if !unsafeSettings.isEmpty { flaws.append(.commitsMayBeLost(settings: unsafeSettings)) }
        if initialSynchronousCommit == "off" { flaws.append(.commitsDoNotWait) }
        return flaws
    }
}
