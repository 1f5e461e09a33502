import FoundationEssentials
import LibPQ

extension DatabaseDiagnosis {
    /// `reset_val` is what a session has that sets nothing itself.
    static let readServer = Statement<Void, ServerFacts>(
        """
        SELECT current_setting('server_version_num')::integer, current_setting('server_version'),
            current_database()::text, current_setting('server_encoding'), pg_is_in_recovery(),
            (SELECT s.reset_val FROM pg_settings s WHERE s.name = 'default_transaction_read_only') = 'on',
            current_setting('synchronous_commit'),
            (SELECT s.reset_val FROM pg_settings s WHERE s.name = 'synchronous_commit'),
            coalesce(current_setting('sluice.accepts_loss', true), '') = 'on',
            ARRAY(
                SELECT s.name FROM pg_settings s
                WHERE s.name IN ('fsync', 'full_page_writes') AND s.setting = 'off' ORDER BY s.name
            ),
            coalesce(current_setting('synchronous_standby_names', true), ''), clock_timestamp()
        """, onlyReads: true
    ) { row throws(PostgresError) in
        ServerFacts(
            versionNumber: try row.next(), version: try row.next(), database: try row.next(),
            encoding: try row.next(), isStandby: try row.next(), isReadOnly: try row.next(),
            synchronousCommit: try row.next(),
            initialSynchronousCommit: try row.next(), acceptsLoss: try row.next(), unsafeSettings: try row.next(),
            synchronousStandbys: try row.next(), clock: try row.next())
    }

    /// The tables are what Sluice has made, as for `grant_to_gateway`: admins and extensions may have put more into the
    /// schema. The logs are those that every gateway appends to, whoever owns them. The functions are all but the two
    /// that a gateway must not call.
    static let readLogin = Statement<Void, LoginFacts>(
        """
        WITH relations AS (
            SELECT c.oid, c.relname::text AS name, c.relowner FROM pg_class c
            WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
        ),
        tables AS (
            SELECT r.oid, r.name FROM relations r
            JOIN relations m ON m.name = 'schema_migrations' AND m.relowner = r.relowner
            WHERE NOT EXISTS (
                SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = r.oid AND d.deptype = 'e'
            )
        ),
        logs AS (SELECT r.* FROM relations r WHERE r.name IN ('issuances', 'policy_log', 'admin_audit'))
        SELECT r.rolname::text, r.rolsuper, g.oid IS NOT NULL, coalesce(pg_has_role(r.oid, g.oid, 'USAGE'), false),
            EXISTS (SELECT FROM logs l WHERE pg_has_role(l.relowner, 'USAGE')),
            has_schema_privilege('public', 'CREATE'), has_database_privilege(current_database(), 'TEMPORARY'),
            ARRAY(
                SELECT t.name FROM tables t WHERE NOT has_table_privilege(t.oid, 'SELECT')
                UNION
                SELECT l.name FROM logs l WHERE NOT has_table_privilege(l.oid, 'INSERT')
                ORDER BY 1
            ),
            ARRAY(
                SELECT p.proname::text FROM pg_proc p
                WHERE p.pronamespace = 'public'::regnamespace
                    AND p.proname IN (SELECT f.name FROM schema_functions f)
                    AND p.proname NOT IN ('grant_to_gateway', 'create_issuances_partition')
                    AND NOT has_function_privilege(p.oid, 'EXECUTE')
                ORDER BY 1
            ),
            ARRAY(
                SELECT rights.name || ' on ' || l.name
                FROM logs l CROSS JOIN (VALUES ('UPDATE'), ('DELETE'), ('TRUNCATE')) AS rights (name)
                WHERE has_table_privilege(l.oid, rights.name)
                ORDER BY 1
            )
        FROM pg_roles r LEFT JOIN pg_roles g ON g.rolname = 'sluice_gateway'
        WHERE r.rolname = current_user
        """, onlyReads: true
    ) { row throws(PostgresError) in
        LoginFacts(
            name: try row.next(), isSuperuser: try row.next(), hasGroupRole: try row.next(),
            isInGroupRole: try row.next(), ownsSchema: try row.next(), mayCreate: try row.next(),
            mayCreateTemporary: try row.next(), missingTables: try row.next(), missingFunctions: try row.next(),
            excessRights: try row.next())
    }

    static let readMissingDays = Statement<Void, String>(
        """
        SELECT d.day::text
        FROM (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date + n AS day FROM generate_series(0, 1) AS n) d
        WHERE NOT EXISTS (SELECT FROM issuances_partitions() p WHERE p.day = d.day)
        ORDER BY d.day
        """, onlyReads: true)

    static let readLockRoom = Statement<Void, LockRoom>(
        """
        SELECT current_setting('max_locks_per_transaction')::bigint,
            current_setting('max_connections')::bigint + current_setting('max_prepared_transactions')::bigint,
            count(*), count(*) + coalesce(sum(d.indexes), 0)::bigint
        FROM (
            SELECT (SELECT count(*) FROM pg_index x WHERE x.indrelid = p.partition) AS indexes
            FROM issuances_partitions() p
        ) d
        """, onlyReads: true
    ) { row throws(PostgresError) in
        LockRoom(
            setting: try row.next(), transactions: try row.next(), days: try row.next(), ofLedger: try row.next())
    }

    static let countSealed = Statement<Void, (keyID: String, count: Int64)>(
        """
        SELECT s.key_id, count(*)
        FROM (
            SELECT key_id FROM storage_credentials
            UNION ALL
            SELECT key_id FROM issuers WHERE key_id IS NOT NULL
            UNION ALL
            SELECT key_id FROM tickets WHERE key_id IS NOT NULL
        ) s
        GROUP BY s.key_id ORDER BY s.key_id COLLATE "C"
        """, onlyReads: true
    ) { row throws(PostgresError) in
        (keyID: try row.next(), count: try row.next())
    }

    static let readGateways = Statement<Void, RunningGateway>(
        """
        SELECT g.id, g.version, g.clock_difference, g.key_ids FROM gateways g
        WHERE is_live_gateway(g.last_seen_at) ORDER BY g.id
        """, onlyReads: true
    ) { row throws(PostgresError) in
        RunningGateway(
            id: try row.next(), version: try row.next(), clockDifference: try row.next(), masterKeys: try row.next())
    }

    /// The host of a bucket with virtual addressing begins with its name.
    static let readEndpoints = Statement<Void, CalledEndpoint>(
        """
        SELECT 'bucket ' || b.name,
            CASE
                WHEN b.addressing = 'virtual' THEN regexp_replace(b.endpoint, '^(https?://)', '\\1' || b.name || '.')
                ELSE b.endpoint
            END
        FROM buckets b
        UNION ALL
        SELECT 'storage credential ' || c.name, c.session_role ->> 'endpoint'
        FROM storage_credentials c WHERE c.session_role ->> 'endpoint' IS NOT NULL
        UNION ALL
        SELECT 'issuer ' || i.issuer, i.keys_url FROM issuers i WHERE i.keys_url IS NOT NULL
        UNION ALL
        SELECT 'sign-in at ' || i.issuer, i.issuer FROM issuers i
        WHERE i.console IS NOT NULL AND NOT i.console ?& '{authorizationEndpoint,tokenEndpoint}'
        ORDER BY 1
        """, onlyReads: true
    ) { row throws(PostgresError) in
        CalledEndpoint(row: try row.next(), url: try row.next())
    }
}
