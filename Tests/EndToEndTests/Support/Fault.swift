import Foundation
import Glibc
import LibPQ
import Logging
import PostgresTesting
import Testing

/// A fault in the surroundings of a gateway, and the answers that it must give meanwhile.
struct Fault: Sendable {
    let name: String
    /// The check of `/readyz` that fails, and a part of its text; `nil` where the gateway may stay ready.
    let flaw: (check: String, text: String)?
    /// The status of a request for a URL during the fault.
    let status: Int
    let begin: @Sendable (Deployment) async throws -> Void
    let end: @Sendable (Deployment) async throws -> Void
}

extension Fault {
    static let functionsGone = Fault(
        name: "functions gone", flaw: ("schema", "Functions, tables or columns that recordings need are missing"),
        status: 503
    ) { site in
        try await site.session().runScript("ALTER FUNCTION record_issuance RENAME TO gone")
    } end: { site in
        try await site.session().runScript("ALTER FUNCTION gone RENAME TO record_issuance")
    }

    /// As done by `sluice migrate` of a later version.
    static let schemaChanged = Fault(
        name: "schema changed", flaw: ("schema", "run 'sluice migrate', or start the version that fits"), status: 503
    ) { site in
        try await site.session().runScript(
            """
            INSERT INTO schema_migrations (version, name, checksum, kind, serves_from)
            SELECT max(version) + 1, 'later', '', 'contract', max(version) + 1 FROM schema_migrations;
            SELECT append_policy_log('{all}', 'sluice migrate', 'later')
            """)
    } end: { site in
        try await site.session().runScript("DELETE FROM schema_migrations WHERE name = 'later'")
    }

    static let schemaEdited = Fault(
        name: "a migration applied in another form", flaw: ("schema", "Migration 1 was applied"), status: 503
    ) { site in
        try await site.session().runScript(
            "UPDATE schema_migrations SET checksum = '\\x00' || checksum WHERE version = 1")
    } end: { site in
        try await site.session().runScript(
            "UPDATE schema_migrations SET checksum = substr(checksum, 2) WHERE version = 1")
    }

    /// As done by `sluice migrate --finish` of a version with other functions and the same tables.
    static let functionsDiffer = Fault(
        name: "other functions", flaw: ("schema", "lacks functions that this program calls: uuid_v7"), status: 503
    ) { site in
        try await site.session().runScript(
            """
            UPDATE schema_functions SET contract = '\\x00' || contract WHERE name = 'uuid_v7';
            SELECT append_policy_log('{all}', 'sluice migrate', 'functions')
            """)
    } end: { site in
        try await site.session().runScript(
            "UPDATE schema_functions SET contract = substr(contract, 2) WHERE name = 'uuid_v7'")
    }

    static let ledgerLocked = Fault(
        name: "ledger locked", flaw: ("recordings", "holds a lock on the ledger's tables"), status: 503
    ) { site in
        let session = try site.session()
        try await session.runScript("BEGIN; LOCK TABLE issuances IN ACCESS EXCLUSIVE MODE")
        site.hold(session)
    } end: { site in
        await site.closeHeldSessions()
    }

    /// Until a change drops all rows, those whose rows are in memory would still get links.
    static let grantsLocked = Fault(
        name: "grants locked", flaw: ("policy", "look for locks on its tables"), status: 503
    ) { site in
        let session = try site.session()
        try await session.runScript("BEGIN; LOCK TABLE grants IN ACCESS EXCLUSIVE MODE")
        site.hold(session)
        try await site.session().runScript("SELECT append_policy_log('{all}', 'tests', 'all rows are read anew')")
    } end: { site in
        await site.closeHeldSessions()
    }

    /// The day's partition of the ledger lies on a device that is always full.
    static let diskFull = Fault(name: "disk full", flaw: ("recordings", "disk is full"), status: 503) { site in
        let session = try site.session()
        try await session.runScript("CREATE TABLE full_day (LIKE issuances)")
        try await session.runScript("CHECKPOINT")
        let path = try #require(try await session.texts("SELECT pg_relation_filepath('full_day')").first)
        let file = "\(site.cluster.directory)/data/\(path)"
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "/dev/full")
        try await site.session().runScript(exchangeDay(of: day, for: "full_day"))
    } end: { site in
        try await site.session().runScript(exchangeDay(of: "full_day", for: day))
    }

    private static let day = "issuances_' || to_char(d, 'YYYYMMDD') || '"

    private static func exchangeDay(of old: String, for new: String) -> String {
        """
        DO $$
        DECLARE
            d date := (now() AT TIME ZONE 'UTC')::date;
        BEGIN
            EXECUTE 'ALTER TABLE issuances DETACH PARTITION \(old)';
            EXECUTE 'ALTER TABLE issuances ATTACH PARTITION \(new) FOR VALUES FROM ('''
                || d || ' 00:00Z'') TO (''' || d + 1 || ' 00:00Z'')';
        END
        $$
        """
    }

    static let readOnly = Fault(name: "read-only", flaw: ("recordings", "does not accept writes"), status: 503) {
        site in
        try await site.cluster.administrate(
            "ALTER DATABASE \(site.databaseName) SET default_transaction_read_only = on")
        try await site.cutSessions()
    } end: { site in
        try await site.cluster.administrate("ALTER DATABASE \(site.databaseName) RESET default_transaction_read_only")
        try await site.cutSessions()
    }

    /// A session that reads the clock without naming a schema gets a clock that is a minute ahead.
    static let clockOff = Fault(name: "clock off", flaw: ("clock", "s behind that of PostgreSQL"), status: 503) {
        site in
        try await site.session().runScript(
            """
            CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
            RETURN pg_catalog.clock_timestamp() + interval '1 minute';
            CREATE FUNCTION public.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE
            RETURN pg_catalog.statement_timestamp() + interval '1 minute'
            """)
        try await site.cluster.administrate(
            "ALTER DATABASE \(site.databaseName) SET search_path = public, pg_catalog")
        try await site.cutSessions()
    } end: { site in
        try await site.cluster.administrate("ALTER DATABASE \(site.databaseName) RESET search_path")
        try await site.cutSessions()
        try await site.session().runScript("DROP FUNCTION public.clock_timestamp(), public.statement_timestamp()")
    }

    /// As done by an admin's script in a loop.
    static let sessionsEnded = Fault(
        name: "sessions ended", flaw: nil, status: 503
    ) { site in
        try await site.session().runScript("CREATE TABLE ending ()")
        Task {
            while try await site.number("SELECT count(*) FROM pg_class WHERE relname = 'ending'") == 1 {
                // A session that has just ended by itself is a warning, which counts as a failure.
                try? await site.cutSessions()
            }
        }
    } end: { site in
        try await site.session().runScript("DROP TABLE ending")
    }

    static let standbyDown = Fault(
        name: "standby down", flaw: ("recordings", "look at its synchronous standbys"), status: 503
    ) { site in
        try await site.cluster.administrate("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        try await site.cluster.administrate("SELECT pg_reload_conf()")
    } end: { site in
        try await site.cluster.administrate("ALTER SYSTEM RESET synchronous_standby_names")
        try await site.cluster.administrate("SELECT pg_reload_conf()")
    }

    static let noConnectionLeft = Fault(name: "no connection left", flaw: nil, status: 201) { site in
        for _ in 0..<100 {
            let session = try site.session()
            do { try await session.runScript("SELECT") } catch {
                return #expect("\(error)".contains("too many clients"))
            }
            site.hold(session)
        }
        Issue.record("there is always one more connection")
    } end: { site in
        await site.closeHeldSessions()
    }

    /// It does not answer over the connections that there are, and new ones do not come about.
    static let suspended = Fault(
        name: "PostgreSQL suspended", flaw: ("recordings", "PostgreSQL "), status: 503
    ) { site in
        try await site.cluster.suspend()
    } end: { site in
        try await site.cluster.resume()
    }

    static let stopped = Fault(
        name: "PostgreSQL stopped", flaw: ("recordings", "PostgreSQL cannot be reached"), status: 503
    ) { site in
        try await site.cluster.stop()
    } end: { site in
        try await site.cluster.start()
    }
}

extension Deployment {
    /// Ends all sessions of gateways.
    fileprivate func cutSessions() async throws {
        try await cluster.endSessions(where: "datname = '\(databaseName)' AND application_name = 'sluice'")
    }
}

extension TestCluster {
    /// Runs a script outside the test databases.
    func administrate(_ sql: String) async throws {
        try await withSession { try await $0.runScript(sql) }
    }

    /// Ends the sessions for which a condition on `pg_stat_activity` holds.
    func endSessions(where condition: String) async throws {
        try await withSession { try await $0.endSessions(where: condition) }
    }

    private func withSession(_ body: (PostgresConnection) async throws -> Void) async throws {
        let session = PostgresConnection(
            try PostgresConfiguration(
                connectionString: connectionString(database: "postgres"), applicationName: "tests"),
            logger: Logger(label: "tests", factory: { _ in SwiftLogNoOpLogHandler() }))
        try await body(session)
        await session.close()
    }
}
