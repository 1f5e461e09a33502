import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// What has to stay true of the catalogue so that the ledger can be spread over several databases by whom its rows
/// belong to. `docs/scaling.md` has the reasons.
@Suite struct ShardingTests {
    /// Tables that can be spread, with the column that says whom a row belongs to. Two have none yet; they are found by
    /// their issuance.
    private static let spread = [
        "deletions": "principal", "denials": "principal", "idempotency_keys": "caller", "issuances": "principal",
        "landings": nil, "multipart_parts": nil, "multipart_uploads": "principal", "quota_usage": "holder",
        "remote_uploads": "principal", "reservations": "holder",
    ]

    /// Tables of which each database would hold a copy: what decisions rest on, and what says which schema there is.
    private static let everywhere: Set = [
        "api_keys", "buckets", "event_secrets", "grants", "group_member_history", "group_members", "issuers",
        "past_changes", "policy_changes", "policy_log", "quotas", "schema_functions", "schema_programs",
        "schema_migrations",
        "storage_credentials", "tickets",
    ]

    /// Tables that would stay on one database, because no link waits for them.
    private static let inOnePlace: Set = [
        "admin_audit", "caller_days", "caller_landing_days", "caller_landings", "caller_sums", "gateways", "grant_uses",
        "issuance_sums", "landed_uploads", "landing_changes", "landing_sums", "refusal_gaps", "refusals",
        "store_events", "summed_caller_days", "summed_days", "summed_hours", "ticket_revocations",
    ]

    /// Triggers that note what the sums have yet to count. Where rows are spread, each database would note and sum up
    /// its own.
    private static let noting: Set = [
        "landings.changed_findings_are_noted", "landings.new_findings_are_noted",
        "multipart_uploads.completed_uploads_are_noted",
    ]

    /// Keys without the column of the owner that are unique by themselves: random identifiers, and a store's.
    ///
    /// No key may be added here: an engine such as Citus would have each of them widened.
    private static let narrowKeys: Set = [
        "idempotency_keys_pkey", "issuances_pkey", "landings_pkey", "multipart_parts_pkey", "multipart_uploads_pkey",
        "remote_uploads_pkey", "remote_uploads_upload_id_key", "reservations_pkey",
    ]

    /// The tables that can be spread, and their owners' columns, as rows of SQL: `spread (name, owner)`.
    private static let spreadRows: String = {
        let rows = spread.map { "('\($0.key)', \($0.value.map { "'\($0)'" } ?? "NULL"))" }
        return "(VALUES \(rows.sorted().joined(separator: ", "))) AS spread (name, owner)"
    }()

    private static func texts(_ sql: String) async throws -> Set<String> {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        return Set(try await connection.texts(sql))
    }

    @Test(.database(.migrated)) func `each table has its place`() async throws {
        let tables = try await Self.texts(
            """
            SELECT relname::text FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
            """)
        #expect(tables == Self.everywhere.union(Self.inOnePlace).union(Self.spread.keys))
    }

    @Test(.database(.migrated)) func `whom a row belongs to is in the row, and compared as bytes`() async throws {
        let lacking = try await Self.texts(
            """
            SELECT spread.name FROM \(Self.spreadRows)
            WHERE owner IS NOT NULL AND NOT EXISTS (
                SELECT FROM pg_attribute a
                WHERE a.attrelid = to_regclass('public.' || spread.name) AND a.attname = spread.owner
                    AND a.attnotnull AND a.atttypid = 'text'::regtype AND a.attcollation = '"C"'::regcollation
            )
            """)
        #expect(lacking == [])
    }

    @Test(.database(.migrated)) func `a key contains the owner or is unique by itself`() async throws {
        let narrow = try await Self.texts(
            """
            SELECT i.indexrelid::regclass::text
            FROM \(Self.spreadRows)
            JOIN pg_index i ON i.indrelid = to_regclass('public.' || spread.name) AND i.indisunique
            WHERE NOT EXISTS (
                SELECT FROM pg_attribute a
                WHERE a.attrelid = i.indrelid AND a.attname = spread.owner AND a.attnum = ANY (i.indkey::int2[])
            )
            """)
        #expect(narrow.subtracting(Self.narrowKeys) == [], "keys that only one database can keep unique")
        #expect(Self.narrowKeys.subtracting(narrow) == [], "keys that need not be listed any more")
    }

    /// A row and what it refers to would lie in different databases.
    @Test(.database(.migrated)) func `no foreign key leads out of the tables that can be spread, or into them`()
        async throws
    {
        let crossing = try await Self.texts(
            """
            WITH spread AS (SELECT to_regclass('public.' || name) AS id FROM \(Self.spreadRows))
            SELECT conname::text FROM pg_constraint
            WHERE contype = 'f' AND conparentid = 0
                AND (conrelid IN (SELECT id FROM spread)) <> (confrelid IN (SELECT id FROM spread))
            """)
        #expect(crossing == [])
    }

    /// A sequence is an order over all databases, and a trigger is what engines run per shard, late, or not at all.
    @Test(.database(.migrated)) func `tables that can be spread have no sequences, and triggers that only note`()
        async throws
    {
        let found = try await Self.texts(
            """
            WITH spread AS (SELECT to_regclass('public.' || name) AS id FROM \(Self.spreadRows))
            SELECT attrelid::regclass || '.' || attname FROM pg_attribute
            WHERE attidentity <> '' AND attrelid IN (SELECT id FROM spread)
            UNION ALL
            SELECT adrelid::regclass::text FROM pg_attrdef
            WHERE pg_get_expr(adbin, adrelid) LIKE '%nextval%' AND adrelid IN (SELECT id FROM spread)
            UNION ALL
            SELECT tgrelid::regclass || '.' || tgname FROM pg_trigger
            WHERE NOT tgisinternal AND tgrelid IN (SELECT id FROM spread)
            """)
        #expect(found == Self.noting)
    }

    /// Whoever shares a quota waits for one row: it must not lie among the rows of one of them.
    @Test(.database(.migrated)) func `the counter of a shared quota belongs to the quota's principal`() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let shared = Quota.sample(limit: 10, sharing: .shared)
        let own = Quota.sample(limit: 10, metric: .bytes)
        for quota in [shared, own] { try await connection.insert(quota) }
        let charges = [try shared.charge(), try own.charge()]
        let proposal = try IssuanceProposal.sample(
            at: await connection.position(), action: .putObject, charges: charges)
        #expect(try await connection.record([proposal]).allSatisfy(\.isRecorded))
        let holders = try await connection.texts("SELECT holder || ' ' || shared FROM quota_usage")
        #expect(Set(holders) == ["* true", "user:alice false"])
    }
}
