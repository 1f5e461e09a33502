import Foundation
import GatewayCore
import LibPQ
import Logging
import PostgresTesting
import Testing

@testable import GatewayPostgres

extension IssuanceProposal {
    /// A download by `user:alice`, by default under her own grant. By default it charges nothing.
    static func sample(
        at position: PolicyPosition, principal: String = "user:alice", matched: Principal? = nil,
        scopes: [String]? = nil, grantID: UUID = UUID(), action: Action = .getObject, charges: [QuotaCharge] = [],
        lifetime: TimeInterval = 900
    ) throws -> IssuanceProposal {
        let principal = try Principal(principal)
        return IssuanceProposal(
            id: UUID(), position: position,
            scopes: scopes?.map { PolicyScope(rawValue: $0) } ?? [.principal(principal), .principal(.anyone)],
            principal: principal, matchedPrincipal: matched ?? principal, grantID: grantID, credentialID: UUID(),
            delivery: .presignedURL, action: action, method: action == .getObject ? "GET" : "PUT",
            bucket: try BucketName("demo"), key: ExactText("users/alice/photo é.jpg"),
            expiresAt: Date().addingTimeInterval(lifetime), contentType: "image/jpeg",
            contentMD5: action == .putObject ? [UInt8](repeating: 7, count: 16) : nil,
            contentLength: action == .putObject ? 1000 : nil, requestID: "request-1", charges: charges)
    }
}

extension Quota {
    /// A quota of URLs per day for each user by default.
    static func sample(
        limit: Int64, principal: Principal = .anyone, metric: Metric = .urls, period: Period = .day,
        sharing: Sharing = .each
    ) -> Quota {
        Quota(
            id: UUID(), principal: principal, bucket: nil, action: metric == .bytes ? .putObject : nil,
            metric: metric, period: period, sharing: sharing, limit: limit, createdAt: Date())
    }

    /// Makes a charge to this quota for a user.
    func charge(_ amount: Int64 = 1, by user: String = "user:alice") throws -> QuotaCharge {
        QuotaCharge(quota: self, holder: sharing == .shared ? principal : try Principal(user), amount: amount)
    }
}

extension PostgresConnection {
    /// The end of the policy log.
    func position() async throws -> PolicyPosition {
        let positions = try await execute(
            Statement<Void, PolicyPosition>("SELECT seq, tag FROM policy_log ORDER BY seq DESC LIMIT 1") {
                row throws(PostgresError) in PolicyPosition(sequence: try row.decode(0), tag: try row.decode(1))
            })
        return try #require(positions.first)
    }

    /// The server's process of the ledger's connection, of which it has opened one.
    func ledgerProcess() async throws -> pid_t {
        let process = """
            SELECT pid FROM pg_stat_activity WHERE application_name = 'ledger' AND datname = current_database()
            """
        return pid_t(try await number(process))
    }

    /// Runs `body` in a transaction of this connection.
    ///
    /// - Returns: How many rows of a table it read over this connection.
    nonisolated func rowsRead(of table: String, _ body: () async throws -> Void) async throws -> Int64 {
        let reads = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = '\(table)'"
        try await runScript("BEGIN")
        let before = try await number(reads)
        try await body()
        let after = try await number(reads)
        try await runScript("COMMIT")
        return after - before
    }

    /// Stores a quota's row.
    func insert(_ quota: Quota) async throws {
        try await perform(
            Statement<Quota, Void>(
                """
                INSERT INTO quotas (id, principal, action, metric, period, sharing, quota_limit)
                VALUES ($1, $2, $3, $4, $5, $6, $7)
                """
            ) {
                [
                    $0.id, $0.principal.rawValue, $0.action?.rawValue, $0.metric.rawValue, $0.period.rawValue,
                    $0.sharing.rawValue, $0.limit,
                ]
            }, quota)
    }

    /// Appends a policy change in some scopes.
    func append(scopes: [String]) async throws {
        try await perform(
            Statement<[String], Void>("SELECT append_policy_log($1, 'test', '')") { [$0] }, scopes)
    }
}

/// The recording functions.
enum RecordingFunction: String, CaseIterable, Sendable {
    /// For one proposal that charges at most one quota.
    case one = "record_issuance"
    /// For any number of proposals.
    case several = "record_issuances"

    /// Replaces the function with a changed version of its source.
    func replace(
        over connection: PostgresConnection, _ change: (inout String) throws -> Void
    ) async throws {
        var source = try #require(
            try await connection.texts("SELECT pg_get_functiondef('\(rawValue)'::regproc)").first)
        try change(&source)
        try await connection.runScript(source)
    }
}

extension PostgresConnection {
    /// Records proposals with one of the functions: all in one call, or each in its own.
    func record(
        _ proposals: [IssuanceProposal], by function: RecordingFunction = .several
    ) async throws -> [RecordVerdict] {
        var verdicts: [RecordVerdict] = []
        switch function {
        case .several:
            let entries = proposals.map { LedgerEntry($0, deadline: .soon, for: .nobody) }
            for batch in RecordBatch.batches(of: entries) {
                verdicts += try await record(batch, by: RecordBatch.record)
            }
        case .one:
            for proposal in proposals {
                verdicts += try await record(RecordBatch([proposal]), by: RecordBatch.recordOne)
            }
        }
        return verdicts
    }

    private func record(
        _ batch: RecordBatch, by statement: Statement<RecordBatch.Call, RecordBatch.Answer>
    ) async throws -> [RecordVerdict] {
        let answer = try #require(try await execute(statement, (batch, .right), deadline: .soon).first)
        guard case .verdicts(let verdicts) = try batch.outcome(by: answer) else {
            throw GatewayError.clockDiffers(retryAfter: 1)
        }
        return verdicts
    }
}

extension LedgerClock {
    /// This machine's clock, which is also the database's.
    static var right: LedgerClock { .ahead(0) }

    /// A clock that is ahead of the database's by some seconds. A difference of five seconds is permitted.
    static func ahead(_ seconds: TimeInterval, logger: Logger = .silent) -> LedgerClock {
        LedgerClock(maxDifference: 5, logger: logger) { Date().addingTimeInterval(seconds) }
    }
}

extension RecordVerdict {
    /// The amount left of each charged quota.
    var remaining: [Int64] {
        guard case .recorded(let remaining) = self else { return [] }
        return remaining.map(\.remaining)
    }

    /// The refusal of a quota; `nil` for another verdict.
    var refusal: QuotaRefusal? {
        guard case .quotaExceeded(let refusal) = self else { return nil }
        return refusal
    }
}

extension IssuanceProposal {
    /// The same proposal with another identifier.
    var again: IssuanceProposal { with(id: UUID()) }

    /// The same proposal with other values.
    func with(
        id: UUID? = nil, scopes: [PolicyScope]? = nil, credentialID: UUID? = nil, delivery: Delivery? = nil,
        action: Action? = nil, furtherActions: [Action]? = nil, method: String? = nil, key: String? = nil,
        expiresAt: Date? = nil, contentMD5: [UInt8]? = nil,
        contentSHA256: [UInt8]? = nil, signsPayload: Bool? = nil, contentLength: Int64? = nil, requestID: String? = nil
    ) -> IssuanceProposal {
        IssuanceProposal(
            id: id ?? self.id, position: position, scopes: scopes ?? self.scopes, principal: principal,
            matchedPrincipal: matchedPrincipal, grantID: grantID, credentialID: credentialID ?? self.credentialID,
            delivery: delivery ?? self.delivery, action: action ?? self.action,
            furtherActions: furtherActions ?? self.furtherActions, method: method ?? self.method, bucket: bucket,
            key: key.map { ExactText($0) } ?? self.key, expiresAt: expiresAt ?? self.expiresAt,
            contentType: contentType, contentMD5: contentMD5 ?? self.contentMD5,
            contentSHA256: contentSHA256 ?? self.contentSHA256, signsPayload: signsPayload ?? self.signsPayload,
            contentLength: contentLength ?? self.contentLength, requestID: requestID ?? self.requestID,
            charges: charges)
    }
}

extension ContinuousClock.Instant {
    /// A deadline far enough ahead for every test.
    static var soon: ContinuousClock.Instant { .now + .seconds(20) }
}

/// Runs `body` with a ledger that records, and then shuts the ledger down.
func withLedger<Result: Sendable>(
    _ connectionString: String, clock: LedgerClock = .right,
    limits: PostgresLedger.Limits = PostgresLedger.Limits(connections: 2),
    _ body: @Sendable (PostgresLedger, PostgresConnection) async throws -> Result
) async throws -> Result {
    let connection = try PostgresConnection(testing: connectionString)
    let configuration = try PostgresConfiguration(connectionString: connectionString, applicationName: "ledger")
    let ledger = try PostgresLedger(
        configuration: configuration, clock: clock, limits: limits, logger: .silent)
    return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await ledger.run() }
        defer { group.cancelAll() }
        let result = try await body(ledger, connection)
        await connection.close()
        return result
    }
}
