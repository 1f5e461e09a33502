import Foundation
import GatewayCore
import LibPQ
import PostgresTesting

@testable import GatewayPostgres

/// A ledger in the running test's database, filled by hand, with its readers. It is logged in as the gateway.
struct LedgerWorld: Sendable {
    /// Noon, UTC, two days ago: far enough from midnight and the present.
    static let noon = Date(
        timeIntervalSince1970: (Date().timeIntervalSince1970 / 86_400).rounded(.down) * 86_400 - 2 * 86_400 + 43_200)

    let connection: PostgresConnection
    let reader: PostgresIssuances
    let reports: PostgresLedgerReports
    let reporting: LedgerReporting

    init() throws {
        let database = try TestDatabase.current
        let settings = PostgresIssuances.sessionSettings + [("role", "sluice_gateway")]
        let pool = PostgresPool(try database.configuration(sessionSettings: settings), size: 2, logger: .silent)
        connection = try PostgresConnection(testing: database.connectionString)
        reader = PostgresIssuances(pool: pool, logger: .silent, now: { Date() })
        reports = PostgresLedgerReports(pool: pool, logger: .silent, now: { Date() })
        let grants = PostgresAdminStore<Grant>(.grants, pool: pool, logger: .silent, now: { Date() })
        reporting = LedgerReporting(reports: reports, grants: grants, now: { Date() })
    }

    /// A row in the form in which the recording function would have written it.
    struct Row: Sendable {
        var at = LedgerWorld.noon
        /// The time when the gateway made the identifier; the time of recording where `nil`.
        var madeAt: Date?
        var principal = "user:alice"
        var matched: String?
        var grant = LedgerWorld.id(1)
        var credential = LedgerWorld.id(900)
        var action = "GetObject"
        var delivery = "presigned-url"
        var bucket = "demo"
        var key = "team/a.txt"
        var life: TimeInterval = 900
        var contentType: String?
        var length: Int64?
        var policySequence: Int64 = 1
        var quotas: [UUID]?
        var amounts: [Int64]?
    }

    static func id(_ number: UInt16) -> UUID {
        UUID(uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, UInt8(number >> 8), UInt8(number & 255)))
    }

    /// Writes rows; returns their identifiers.
    @discardableResult
    func write(_ rows: [Row]) async throws -> [UUID] {
        var ids: [UUID] = []
        for row in rows {
            let day = Int((row.at.timeIntervalSince1970 / 86_400).rounded(.down)) * 86_400
            try await connection.runScript(
                "SELECT create_issuances_partition((to_timestamp(\(day)) AT TIME ZONE 'UTC')::date)")
            let id = UUID.version7(at: row.madeAt ?? row.at, randomBytes: (0..<10).map { _ in .random(in: 0...255) })
            ids.append(id)
            try await connection.perform(Self.insert, (id, row))
        }
        return ids
    }

    static let insert = Statement<(id: UUID, row: Row), Void>(
        """
        INSERT INTO issuances (id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id, delivery,
            action, method, bucket, object_key, expires_at, content_type, content_length, request_id, quota_ids,
            quota_amounts)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 'request-1', $16, $17)
        """
    ) { id, row in
        [
            id, row.at, row.policySequence, row.principal, row.matched ?? row.principal, row.grant, row.credential,
            row.delivery, row.action, row.delivery == "sts" ? "*" : row.action == "PutObject" ? "PUT" : "GET",
            row.bucket, row.key, row.at.addingTimeInterval(row.life), row.contentType, row.length, row.quotas,
            row.amounts,
        ]
    }
}

extension IssuanceFilter {
    /// A filter for credentials that have not expired.
    static var alive: IssuanceFilter { with { $0.isAlive = true } }

    /// A filter that starts two days ago, with a change.
    static func with(_ change: (inout IssuanceFilter) -> Void) -> IssuanceFilter {
        var filter = IssuanceFilter()
        change(&filter)
        return filter
    }

    /// A filter that starts five days ago, with a change.
    static func lately(_ change: (inout IssuanceFilter) -> Void = { _ in }) -> IssuanceFilter {
        with { filter in
            filter.from = LedgerWorld.noon.addingTimeInterval(-5 * 86_400)
            change(&filter)
        }
    }
}

/// Takes every fifth of a test's combinations, and at each moment another fifth, so that five moments take each once.
/// `SLUICE_TEST_LEDGER=1` takes all of them at every moment.
struct CombinationSample {
    private static let takesAll = ProcessInfo.processInfo.environment["SLUICE_TEST_LEDGER"] == "1"
    private var moment = 0
    private var place = 0

    mutating func nextMoment() {
        moment += 1
        place = 0
    }

    mutating func takes() -> Bool {
        place += 1
        // Shifted after every fifth, since inner loops of five are common.
        return Self.takesAll || (place + place / 5 + moment) % 5 == 0
    }
}
