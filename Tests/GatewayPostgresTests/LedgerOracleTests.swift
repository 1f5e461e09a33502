import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// What sums and indexes answer equals what a look at every row answers: whatever is summed up, indexed, recorded
/// since, or dropped.
@Suite struct LedgerOracleTests {
    private let world: LedgerWorld
    private let gateway: PostgresConnection
    private let uploads: PostgresUploads

    init() throws {
        world = try LedgerWorld()
        let database = try TestDatabase.current
        gateway = try PostgresConnection(testing: database.connectionString, settings: [("role", "sluice_gateway")])
        let settings = PostgresIssuances.sessionSettings + [("role", "sluice_gateway")]
        let pool = PostgresPool(try database.configuration(sessionSettings: settings), size: 2, logger: .silent)
        uploads = PostgresUploads(pool: pool, ledgerPool: pool, logger: .silent, now: { Date() })
    }

    // MARK: - The rows

    /// Fills days of the ledger up to now, and makes the grants that decided and some that never did.
    private func fill() async throws {
        let admin = try AdminWorld()
        try await admin.makeBucket()
        for prefix in ["a/", "b/", "c/", "d/", "e/", "f/"] {
            let principal = prefix == "e/" ? "user:rare" : "user:3"
            _ = try await admin.stores.grants.create(.sample(principal, prefix), by: AdminWorld.change)
        }
        // They were there before all use of them.
        try await world.connection.runScript(
            """
            UPDATE grants SET created_at = now() - interval '40 days';
            -- Two of them were moved at some time.
            SET session_replication_role = replica;
            INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, conditions, created_by,
                created_at, created_change, removed_at, removed_by, removed_change)
            SELECT g.id, g.principal, g.bucket, 'elsewhere/', g.is_template, g.actions, g.effect, g.conditions,
                g.created_by, g.created_at, gen_random_uuid(), now() - CASE g.prefix WHEN 'a/' THEN interval '9 days'
                    ELSE interval '34 days' END, 'user:root', g.created_change
            FROM grants g WHERE g.prefix IN ('a/', 'd/');
            RESET session_replication_role;
            SELECT create_issuances_partition((now() AT TIME ZONE 'UTC')::date - n) FROM generate_series(1, 36) n;
            INSERT INTO issuances (id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id,
                delivery, action, method, bucket, object_key, expires_at, content_length, request_id)
            SELECT r.id, r.at, 1, r.principal,
                CASE n % 3 WHEN 0 THEN 'group:g' || n % 2 WHEN 1 THEN '*' ELSE r.principal END,
                (SELECT g.id FROM grants g WHERE g.prefix = CASE WHEN r.principal = 'user:rare' THEN 'b/'
                    WHEN n < 700 THEN 'a/' WHEN n % 20 = 0 THEN 'c/' ELSE 'd/' END),
                md5('c' || n % 2)::uuid, CASE n % 5 WHEN 0 THEN 'sts' WHEN 1 THEN 'redirect' ELSE 'presigned-url' END,
                CASE n % 5 WHEN 0 THEN 'PutObject,GetObject' WHEN 1 THEN 'GetObject' ELSE 'PutObject' END,
                CASE n % 5 WHEN 0 THEN '*' WHEN 1 THEN 'GET' ELSE 'PUT' END,
                CASE WHEN n % 400 = 3 THEN 'seldom' WHEN n % 2 = 0 THEN 'demo' ELSE 'other' END,
                CASE n % 4 WHEN 0 THEN 'k' || n WHEN 1 THEN 'users/' || n % 7 || '/' || n WHEN 2 THEN 'users/' || n
                    ELSE 'é/' || n || '/x' END,
                r.at + CASE WHEN n % 97 = 0 THEN interval '7 days' ELSE interval '15 minutes' END, n % 3, 'r'
            FROM generate_series(1, 2400) n
            CROSS JOIN LATERAL (
                SELECT now() - (2400 - n) * interval '21 min' - interval '1 s' AS at,
                    CASE WHEN n IN (1200, 1201, 1650) THEN 'user:rare' ELSE 'user:' || n % 7 END AS principal,
                    (lpad(to_hex((extract(epoch FROM now() - (2400 - n) * interval '21 min') * 1000)::bigint), 12, '0')
                        || '7000800000000000' || lpad(to_hex(n), 4, '0'))::uuid AS id
            ) r;
            INSERT INTO storage_credentials (id, name, access_key_id, sealed, key_id)
            SELECT DISTINCT i.credential_id, i.credential_id::text, 'AKIA', ''::bytea, 'k1' FROM issuances i;
            INSERT INTO landings (issuance_id, finding, source, size)
            SELECT i.id, 'landed', 'confirmation', 1 FROM issuances i WHERE i.id::text LIKE '%0';
            """)
    }

    private func sumUp() async throws {
        for _ in 0..<2 {
            while try await gateway.execute(UsageUpkeep.sum, 1) == [true] {}
        }
        while try await gateway.execute(UsageUpkeep.sumCallers) == [true] {}
        while try await gateway.execute(UsageUpkeep.sumLandings, (5000, 0)) == [true] {}
    }

    // MARK: - The oracle

    /// Lists what passes a filter by a look at every row, in the order of lists.
    private static let listed: Statement<(filter: IssuanceFilter, from: Date), UUID> = {
        var list = ParameterList<(filter: IssuanceFilter, from: Date)>()
        let names = FilterParameters(
            in: &list, from: { PostgresTimestamp($0.from) },
            to: { PostgresTimestamp($0.filter.to ?? Date().addingTimeInterval(3600)) }, filter: { $0.filter })
        let reach = list.add { $0.filter.reach.parameter }
        let parameters = list
        return Statement(
            """
            SELECT i.id FROM issuances i WHERE \(names.condition) AND \(IssuanceFilter.isInside(reach))
            ORDER BY date_trunc('day', i.issued_at, 'UTC') DESC, i.id DESC
            """
        ) {
            parameters.encode($0)
        } decode: { row throws(PostgresError) in
            try row.next()
        }
    }()

    /// Tells of each grant what the rows tell: newest grant first, with the use since `from`.
    private static let used = Statement<(query: GrantUseQuery, from: Date, since: Date), String>(
        """
        WITH used AS (
            SELECT i.grant_id, count(*) AS urls, max(i.issued_at) AS last_at, min(i.object_key) AS first_key,
                max(i.object_key) AS last_key
            FROM issuances i
            WHERE i.issued_at >= $1 AND ($2::text IS NULL OR i.bucket = $2)
            GROUP BY i.grant_id
        ),
        -- A grant that lay outside what the admin reaches may have been used there.
        moved AS (
            SELECT DISTINCT o.id FROM grants o
            WHERE o.removed_at >= $1 AND NOT \(GrantTable.isInside("$6", grant: "o"))
        )
        SELECT concat_ws('|', g.id, s.urls, s.last_at, s.first_key, s.last_key)
        FROM grants g
        LEFT JOIN moved m ON m.id = g.id
        LEFT JOIN used u ON u.grant_id = g.id
        LEFT JOIN used s ON s.grant_id = g.id AND m.id IS NULL
        WHERE g.removed_at IS NULL AND g.effect = 'allow' AND ($2::text IS NULL OR g.bucket = $2)
            AND ($3::text IS NULL OR g.principal = $3)
            AND ($4 OR g.created_at < $5 AND (u.last_at IS NULL OR u.last_at < $5) AND m.id IS NULL)
            AND \(GrantTable.isInside("$6"))
        ORDER BY g.id DESC
        """
    ) {
        [
            $0.from, $0.query.bucket?.rawValue, $0.query.principal?.rawValue, $0.query.includesUsed, $0.since,
            $0.query.reach.parameter,
        ]
    } decode: { row throws(PostgresError) in
        try row.next()
    }

    /// Counts what is alive because of a grant, a credential or a principal.
    private static let alive = Statement<BlastRadiusQuestion, Int64>(
        """
        SELECT count(*) FROM issuances i
        WHERE i.expires_at > now() AND ($1::uuid IS NULL OR i.grant_id = $1)
            AND ($2::uuid IS NULL OR i.credential_id = $2) AND ($3::text IS NULL OR i.principal = $3)
            AND \(IssuanceFilter.isInside("$4"))
        """
    ) { question in
        var (grant, credential, principal): (UUID?, UUID?, String?)
        switch question.cause {
        case .grant(let id): grant = id
        case .credential(let id): credential = id
        case .principal(let one): principal = one.rawValue
        }
        return [grant, credential, principal, question.reach.parameter]
    } decode: { row throws(PostgresError) in
        try row.next()
    }

    private func reaches() throws -> [AdminReach] {
        let (demo, other) = (try BucketName("demo"), try BucketName("other"))
        func names(_ names: String...) throws -> [PrincipalPattern] { try names.map { try PrincipalPattern($0) } }
        return [
            .unlimited, .limited([try AdminScope(bucket: demo, prefix: "", principals: names("user:3", "user:rare"))]),
            .limited([
                try AdminScope(bucket: demo, prefix: "", principals: names("group:g0", "user:2")),
                try AdminScope(bucket: other, prefix: "users/", principals: names("user:5")),
            ]),
            .limited([try AdminScope(bucket: other, prefix: "", principals: names("user:nobody"))]),
            .limited([try AdminScope(bucket: other, prefix: "", principals: names("user:r*"))]),
        ]
    }

    private func filters() throws -> [IssuanceFilter] {
        let grants = try (0..<4).map { try #require(UUID(uuidString: "0000000\($0)-0000-4000-8000-000000000000")) }
        var filters: [IssuanceFilter] = [
            IssuanceFilter(), .with { $0.bucket = try? BucketName("seldom") },
            .with { $0.bucket = try? BucketName("nowhere") }, .with { $0.delivery = .redirect },
            .with { $0.delivery = .postPolicy }, .with { $0.action = .getObject }, .with { $0.action = .deleteObject },
            .with { $0.credentialID = grants[0] }, .with { $0.grantID = grants[0] }, .with { $0.isAlive = true },
            .with {
                $0.isAlive = true
                $0.bucket = try? BucketName("seldom")
            },
        ]
        for name in ["user:3", "user:rare", "user:nobody"] {
            filters.append(.with { $0.principal = try? Principal(name) })
            filters.append(
                .with {
                    $0.principal = try? Principal(name)
                    $0.isAlive = true
                })
            filters.append(
                .with {
                    $0.principal = try? Principal(name)
                    $0.bucket = try? BucketName("other")
                    $0.delivery = .sts
                })
        }
        for prefix in ["", "k", "k12", "u", "users/", "users/12", "users/3/", "zz", "é", "é/4"] {
            filters.append(.with { $0.prefix = ExactText(prefix) })
        }
        return filters
    }

    /// Compares answers with those of a look at every row.
    private func compare(_ moment: String, _ sample: inout CombinationSample) async throws {
        sample.nextMoment()
        // To the millisecond, as page tokens and the API have times.
        let now = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))
        let starts = [-36, -7.25].map { now.addingTimeInterval($0 * 86_400) }
        for (place, reach) in try reaches().enumerated() {
            for (index, one) in try filters().enumerated()
            where (place == 0 || index % 3 == place % 3) && sample.takes() {
                var filter = one
                filter.reach = reach
                for from in place == 0 ? starts : [starts[0]] {
                    filter.from = from
                    let expected = try await world.connection.execute(Self.listed, (filter, from))
                    var query = IssuanceQuery(filter, pageSize: 1000)
                    #expect(try await pages(query) == expected, "\(moment), \(filter.texts)")
                    guard from == starts[1] else { continue }
                    query.pageSize = max(1, expected.count / 3)
                    #expect(try await pages(query) == expected, "\(moment), \(filter.texts), in pages")
                }
            }
            try await compareUploads(moment, within: reach, from: starts[0], &sample)
            try await compareGrants(moment, within: reach, now, &sample)
            for cause in try await causes() where sample.takes() {
                let question = BlastRadiusQuestion(cause: cause, reach: reach)
                let count = try await world.reports.blastRadius(of: cause, within: reach).count
                #expect(try await world.connection.execute(Self.alive, question) == [count], "\(moment), \(cause)")
            }
        }
    }

    private func pages(_ query: IssuanceQuery) async throws -> [UUID] {
        var (query, ids): (IssuanceQuery, [UUID]) = (query, [])
        repeat {
            let page = try await world.reader.issuances(query)
            ids += page.items.map(\.id)
            query.pageToken = page.nextPageToken
        } while query.pageToken != nil
        return ids
    }

    private func compareUploads(
        _ moment: String, within reach: AdminReach, from: Date, _ sample: inout CombinationSample
    ) async throws {
        for principal in [nil, "user:3", "user:rare", "user:nobody"] where sample.takes() {
            var filter = IssuanceFilter()
            (filter.reach, filter.from, filter.action) = (reach, from, .putObject)
            filter.principal = try principal.map { try Principal($0) }
            let expected = try await world.connection.execute(Self.listed, (filter, from))
            var query = UploadQuery(principal: filter.principal, from: from, pageSize: 700, reach: reach)
            var found: [UUID] = []
            repeat {
                let page = try await uploads.uploads(query)
                found += page.items.map(\.record.id)
                query.pageToken = page.nextPageToken
            } while query.pageToken != nil
            let whole = try await world.connection.texts(
                "SELECT id::text FROM issuances WHERE delivery IN ('presigned-url', 'post-policy')")
            let single = Set(whole.compactMap { UUID(uuidString: $0) })
            #expect(found == expected.filter { single.contains($0) }, "\(moment), uploads of \(principal ?? "all")")
        }
    }

    private func compareGrants(
        _ moment: String, within reach: AdminReach, _ now: Date, _ sample: inout CombinationSample
    ) async throws {
        for (from, since) in [(-32, -7), (-10.3, -2.1), (-35, 0), (-1, -0.01)] {
            let (from, since) = (now.addingTimeInterval(from * 86_400), now.addingTimeInterval(since * 86_400))
            for includesUsed in [true, false] {
                for (principal, bucket) in [(nil, nil), ("user:3", nil), (nil, "demo"), (nil, "other")]
                    as [(String?, String?)] where sample.takes()
                {
                    let query = GrantUseQuery(
                        from: from, unusedSince: since, includesUsed: includesUsed,
                        principal: try principal.map { try Principal($0) },
                        bucket: try bucket.map { try BucketName($0) }, pageSize: 1000, reach: reach)
                    let request = GrantUseRequest(
                        query: query, from: PostgresTimestamp(from), since: PostgresTimestamp(since), limit: 1000)
                    let rows = try await gateway.execute(
                        Self.told(includesUsed ? GrantUseRequest.all : GrantUseRequest.unused), request)
                    let expected = try await world.connection.execute(Self.used, (query, from, since))
                    #expect(rows == expected, "\(moment), grants since \(since), \(includesUsed)")
                    #expect(try await world.reporting.grantUse(query).items.count == expected.count)
                }
            }
        }
    }

    /// A statement of the program, with rows in the form of the oracle's.
    private static func told(_ statement: Statement<GrantUseRequest, GrantUse>) -> Statement<GrantUseRequest, String> {
        Statement(
            """
            SELECT concat_ws('|', t.id, t.urls, t.last_at, t.first_key, t.last_key)
            FROM (\(statement.text)) t ORDER BY t.id DESC
            """
        ) {
            $0.parameters
        } decode: { row throws(PostgresError) in
            try row.next()
        }
    }

    private func causes() async throws -> [BlastRadius.Cause] {
        let grants = try await world.connection.texts("SELECT id::text FROM grants WHERE prefix IN ('a/', 'b/', 'd/')")
        let credentials = try await world.connection.texts("SELECT DISTINCT credential_id::text FROM issuances")
        return grants.compactMap { UUID(uuidString: $0) }.map { .grant($0) }
            + credentials.compactMap { UUID(uuidString: $0) }.map { .credential($0) }
            + [.principal(try Principal("user:3")), .principal(try Principal("user:rare"))]
    }

    // MARK: - The tests

    @Test(.database(.migrated)) func `answers do not depend on what is summed up, indexed or dropped`() async throws {
        var sample = CombinationSample()
        try await fill()
        try await compare("nothing is summed up", &sample)
        for _ in 0..<500 { _ = try await gateway.execute(UsageUpkeep.sum, 1) }
        for _ in 0..<100 { _ = try await gateway.execute(UsageUpkeep.sumCallers) }
        try await compare("some of it is", &sample)
        try await sumUp()
        let connection = world.connection
        #expect(try await connection.number("SELECT count(*) FROM summed_caller_days") >= 30)
        #expect(try await connection.number("SELECT count(*) FROM grant_uses") > 4)
        try await compare("all is", &sample)
        for _ in 0..<5 { #expect(try await gateway.execute(IndexUpkeep.index) == [true]) }
        try await compare("some days are indexed", &sample)
        // Recorded since: a use of a grant that was never used, and an hour that nobody has summed up.
        try await connection.runScript(
            """
            INSERT INTO issuances
            SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
                now(), 1, 'user:nobody', '*', (SELECT id FROM grants WHERE prefix = 'f/'), i.credential_id, i.delivery,
                i.action, i.method, i.bucket, 'zz/new', now() + interval '1 hour', NULL, NULL, NULL, 'r', NULL, NULL
            FROM generate_series(1, 3) n
            CROSS JOIN (SELECT * FROM issuances WHERE delivery = 'presigned-url' LIMIT 1) i;
            """)
        try await compare("there is more", &sample)
        let rows = try await connection.number("SELECT count(*) FROM issuances")
        try await connection.runScript(
            """
            DO $$
            DECLARE
                v_day date;
            BEGIN
                FOR v_day IN SELECT d FROM expired_issuances_days(32, now()) AS d LOOP
                    PERFORM empty_issuances_partition(v_day, 32, now());
                    PERFORM drop_issuances_partition(v_day, 32, now());
                END LOOP;
            END
            $$
            """)
        #expect(try await connection.number("SELECT count(*) FROM expired_issuances_days(32, now())") == 0)
        #expect(try await connection.number("SELECT count(*) FROM issuances") < rows)
        try await compare("days are dropped", &sample)
    }

    /// A day that is over is trusted to have no rows that the sums do not have. If the clock goes back to it, it is
    /// not.
    @Test(.database(.migrated)) func `a day that goes on after it was over is read`() async throws {
        let yesterday = LedgerWorld.noon.addingTimeInterval(86_400)
        try await world.write([.init(at: yesterday)])
        try await sumUp()
        let filter = IssuanceFilter.lately { $0.principal = try? Principal("user:late") }
        let days = { [reader = world.reader] in
            let request = LedgerDaysRequest(
                filter: filter, from: PostgresTimestamp(yesterday.addingTimeInterval(-3600)),
                to: PostgresTimestamp(yesterday.addingTimeInterval(3600)))
            return try await reader.ledger.days(request, deadline: .now + .seconds(10))
        }
        #expect(try await days().isEmpty, "nobody has a row there")
        // As if it had been summed up by a clock that was ahead.
        try await world.connection.runScript(
            "UPDATE summed_days SET starts_at = starts_at + interval '1 day', summed_to = starts_at + interval '2 days'"
                + " WHERE summed_to = date_trunc('day', now(), 'UTC')")
        _ = try await gateway.execute(UsageUpkeep.sum, 1)
        #expect(
            try await world.connection.number("SELECT count(*) FROM summed_days WHERE summed_to > clock_timestamp()")
                == 0)
    }

    @Test(.database(.migrated)) func `a day that is over gets indexes, and only such a day`() async throws {
        let connection = world.connection
        let day = LedgerWorld.noon
        try await world.write([.init(at: day), .init(at: Date())])
        #expect(try await gateway.execute(IndexUpkeep.index) == [false], "nothing is summed up")
        try await sumUp()
        // Another gateway is building one.
        let other = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await other.runScript("BEGIN; SELECT pg_advisory_xact_lock(advisory_lock('indexing'))")
        #expect(try await gateway.execute(IndexUpkeep.index) == [false])
        try await other.runScript("ROLLBACK")
        // One that ends while it builds leaves nothing behind.
        try await other.runScript("BEGIN; SELECT index_closed_day()")
        await other.close()
        let upkeep = IndexUpkeep(connection: gateway, logger: .silent)
        let indexed =
            "SELECT count(*) FROM pg_indexes WHERE indexname ~ '^issuances_[0-9]{8}_(object_key|principal|grant_id)_idx$'"
        let over = try await connection.number(
            "SELECT 3 * count(*) FROM summed_days WHERE summed_to <= now() - interval '1 hour'")
        while try await connection.number(indexed) < over { await upkeep.runRound() }
        #expect(try await connection.number(indexed) == over && over > 0)
        #expect(try await gateway.execute(IndexUpkeep.index) == [false])
        let today = try await connection.number(
            "\(indexed) AND tablename = 'issuances_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')")
        #expect(today == 0)

        try await connection.runScript(
            """
            INSERT INTO issuances SELECT gen_random_uuid(), i.issued_at + n * interval '1 ms', 1, i.principal, '*', i.grant_id,
                i.credential_id, i.delivery, i.action, i.method, i.bucket, 'flat' || n || repeat('x', 200), i.expires_at,
                NULL, NULL, NULL, 'r', NULL, NULL
            FROM issuances i, generate_series(1, 20000) n WHERE i.issued_at < now() - interval '1 day';
            ANALYZE issuances;
            """)
        let from = Int(day.timeIntervalSince1970) - 3600
        let plan = try await connection.execute(
            Statement<Void, String>(
                """
                EXPLAIN SELECT i.id FROM issuances i WHERE i.issued_at >= to_timestamp(\(from))
                    AND i.issued_at < to_timestamp(\(from + 7200)) AND starts_with(i.object_key, 'flat777') OFFSET 0
                """
            ) { row throws(PostgresError) in try row.decode(0) })
        #expect(plan.contains { $0.contains("_object_key_idx") }, "\(plan)")
    }
}
