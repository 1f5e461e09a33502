import FoundationEssentials
import LibPQ

/// The database of `sluice dev` while its clock shows the past.
///
/// Sessions whose search path begins with the schema `demo_past` find functions there that hide PostgreSQL's own clock.
/// So the functions that record issuances, and every statement of the gateway, run unchanged at the time that a table
/// holds. Defaults of columns name the function itself and not its name, so they are changed for as long as it takes.
struct PastDatabase: Sendable {
    /// Logged in as the owner of the schema.
    let connection: PostgresConnection
    /// The gateway's login.
    let role: String

    /// The session setting with which a session lives in the past.
    static let searchPath = (name: "search_path", value: "demo_past, pg_catalog, public")

    /// Whether no start has made the demo's rows yet.
    func isUnused() async throws -> Bool {
        try await connection.execute(Self.isUnused).first ?? false
    }

    /// Whether a server has a database.
    static func exists(_ name: String, at server: PostgresConnection) async throws -> Bool {
        try await server.execute(exists, name).first ?? false
    }

    /// Whether the clock was set back, and not forward again.
    func isEntered() async throws -> Bool {
        try await connection.execute(Self.isEntered).first ?? false
    }

    /// Sets the clock back, and makes the ledger's partitions from then on.
    func enter(_ date: Date) async throws {
        try await connection.runScript(
            """
            CREATE SCHEMA demo_past;
            CREATE TABLE demo_past.clock (at timestamptz NOT NULL);
            INSERT INTO demo_past.clock VALUES (to_timestamp(\(date.timeIntervalSince1970)));
            -- What is lost in a crash is made up; so no row waits for the disk.
            CREATE FUNCTION demo_past.clock_timestamp() RETURNS timestamptz
            LANGUAGE plpgsql VOLATILE
            AS $$
            BEGIN
                PERFORM set_config('synchronous_commit', 'off', true);
                RETURN (SELECT c.at FROM demo_past.clock c);
            END
            $$;
            CREATE FUNCTION demo_past.statement_timestamp() RETURNS timestamptz
            LANGUAGE sql STABLE
            AS 'SELECT c.at FROM demo_past.clock c';
            GRANT USAGE ON SCHEMA demo_past TO \(role);
            GRANT SELECT ON demo_past.clock TO \(role);
            SELECT create_issuances_partition(d::date)
            FROM generate_series(
                (SELECT c.at AT TIME ZONE 'UTC' FROM demo_past.clock c), now() AT TIME ZONE 'UTC' + interval '1 day',
                interval '1 day'
            ) AS d;
            \(Self.setDefaults(from: "clock_timestamp()", to: "demo_past.clock_timestamp()"));
            """)
    }

    /// Sets the clock.
    func move(to date: Date) async throws {
        try await connection.perform(Self.move, date)
    }

    /// Returns to the present.
    func leave() async throws {
        try await connection.runScript(
            """
            \(Self.setDefaults(from: "demo_past.clock_timestamp()", to: "pg_catalog.clock_timestamp()"));
            DROP SCHEMA demo_past CASCADE;
            """)
    }

    /// Changes the defaults of all columns that have one expression.
    private static func setDefaults(from old: String, to new: String) -> String {
        """
        DO $$
        DECLARE
            v_column record;
        BEGIN
            FOR v_column IN
                SELECT d.adrelid::regclass AS name, a.attname
                FROM pg_attrdef d
                JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
                JOIN pg_class c ON c.oid = d.adrelid AND c.relnamespace = 'public'::regnamespace
                WHERE pg_get_expr(d.adbin, d.adrelid) = '\(old)'
            LOOP
                EXECUTE format(
                    'ALTER TABLE %s ALTER COLUMN %I SET DEFAULT \(new)', v_column.name, v_column.attname
                );
            END LOOP;
        END
        $$
        """
    }

    private static let isUnused = Statement<Void, Bool>("SELECT NOT EXISTS (SELECT FROM buckets)", onlyReads: true)

    private static let exists = Statement<String, Bool>(
        "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", onlyReads: true
    ) {
        [$0]
    }

    private static let isEntered = Statement<Void, Bool>(
        "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'demo_past')", onlyReads: true)

    private static let move = Statement<Date, Void>("UPDATE demo_past.clock SET at = $1") { [$0] }
}
