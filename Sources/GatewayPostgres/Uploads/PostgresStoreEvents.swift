public import Foundation
public import GatewayCore
import LibCrypto
public import LibPQ
public import Logging

/// Remembers in PostgreSQL what stores told, and what they authenticate with.
public struct PostgresStoreEvents: StoreEventRecords {
    private let pool: PostgresPool
    private let lookUps: PostgresPool
    private let logger: Logger
    private let now: @Sendable () -> Date

    /// Makes an adapter.
    ///
    /// - Parameters:
    ///   - pool: Logged in as the gateway.
    ///   - lookUps: The same, for secrets that anybody may send alone, so that no flood of them takes the connections of others.
    ///   - logger: Told why rows cannot be read or written.
    ///   - now: The clock of identifiers in the audit.
    public init(
        pool: PostgresPool, lookUps: PostgresPool, logger: Logger, now: @escaping @Sendable () -> Date
    ) {
        self.pool = pool
        self.lookUps = lookUps
        self.logger = logger
        self.now = now
    }

    /// Reads the bucket and the hash that go with the name of a secret that is good now.
    public func secret(named name: String) async throws(GatewayError) -> (bucket: BucketName, hash: [UInt8])? {
        try await perform { () throws(PostgresError) in try await lookUps.execute(Self.named, name).first }
    }

    /// Writes objects down that were made in a bucket.
    public func note(_ objects: [MadeObject], in bucket: BucketName) async throws(GatewayError) -> Int {
        let new = try await perform { () throws(PostgresError) in
            try await pool.execute(Self.insert, (bucket, objects)).first
        }
        return Int(new ?? 0)
    }

    /// Puts a secret in the place of a bucket's former one.
    public func rotate(
        _ secret: EventSecret, overlap: Int, by change: ChangeContext
    ) async throws(GatewayError) -> EventSecret {
        let act = AuditedAct(.rotate, .eventSecret, secret.bucket.rawValue, details: ["name": secret.name])
        let entry = try auditEntry()
        do {
            return try await pool.withTransaction { transaction in
                try transaction.mark(change)
                guard let kept = try transaction.execute(Self.rotate, (secret, Int32(overlap))).first else {
                    throw GatewayError.notFound(.bucket)
                }
                _ = try transaction.execute(PostgresAuditLog.insert, (entry, act, change))
                return kept
            }
        } catch {
            throw translated(error)
        }
    }

    /// Reads what is kept of a bucket's secret.
    public func secret(of bucket: BucketName) async throws(GatewayError) -> EventSecret? {
        try await perform { () throws(PostgresError) in try await pool.execute(Self.ofBucket, bucket).first }
    }

    /// Removes a bucket's secrets.
    public func removeSecret(of bucket: BucketName, by change: ChangeContext) async throws(GatewayError) -> Bool {
        let entry = try auditEntry()
        do {
            return try await pool.withTransaction { transaction in
                guard let name = try transaction.execute(Self.remove, bucket).first else { return false }
                let act = AuditedAct(.delete, .eventSecret, bucket.rawValue, details: ["name": name])
                _ = try transaction.execute(PostgresAuditLog.insert, (entry, act, change))
                return true
            }
        } catch {
            throw translated(error)
        }
    }

    private func auditEntry() throws(GatewayError) -> UUID {
        guard let random = try? randomBytes(count: 10) else { throw .unavailable(retryAfter: 1) }
        return .version7(at: now(), randomBytes: random)
    }

    private func perform<Value>(
        _ body: () async throws(PostgresError) -> Value
    ) async throws(GatewayError) -> Value {
        do throws(PostgresError) {
            return try await body()
        } catch {
            throw translated(error)
        }
    }

    private func translated(_ error: any Error) -> GatewayError {
        if let error = error as? GatewayError { return error }
        logger.report(error, "events of stores cannot be read or written", in: pool.outage)
        return (error as? PostgresError)?.asGatewayError ?? .unavailable(retryAfter: 1)
    }
}

extension PostgresStoreEvents {
    static let named = Statement<String, (bucket: BucketName, hash: [UInt8])>(
        """
        SELECT s.bucket, s.hash FROM event_secrets s WHERE s.name = $1
        UNION ALL
        SELECT s.bucket, s.previous_hash FROM event_secrets s
        WHERE s.previous_name = $1 AND s.previous_until > clock_timestamp()
        """, onlyReads: true
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        let name: String = try row.decode(0)
        return (try parsed(0) { () throws(GatewayError) in try BucketName(name) }, try row.decode(1))
    }

    /// In order, so that two messages about the same objects never wait for each other in a circle.
    static let insert = Statement<(bucket: BucketName, objects: [MadeObject]), Int64>(
        """
        WITH noted AS (
            INSERT INTO store_events (bucket, object_key, made_at, size, etag, callback_id)
            SELECT DISTINCT ON (e.object_key COLLATE "C", e.made_at)
                $1, e.object_key, e.made_at, e.size, e.etag, e.callback_id
            FROM unnest($2::text[], $3::timestamptz[], $4::bigint[], $5::text[], $6::text[])
                AS e (object_key, made_at, size, etag, callback_id)
            ORDER BY e.object_key COLLATE "C", e.made_at
            ON CONFLICT DO NOTHING
            RETURNING 1
        )
        SELECT count(*) FROM noted
        """
    ) {
        [
            $0.bucket.rawValue, $0.objects.map(\.key.rawValue), $0.objects.map(\.madeAt), $0.objects.map(\.size),
            $0.objects.map(\.etag), $0.objects.map(\.callbackID),
        ]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }

    private static let columns = "s.bucket, s.name, s.hash, s.created_at, s.previous_until"

    static let rotate = Statement<(secret: EventSecret, overlap: Int32), EventSecret>(
        """
        INSERT INTO event_secrets AS s (bucket, name, hash)
        SELECT b.name, $2, $3 FROM buckets b WHERE b.name = $1
        ON CONFLICT (bucket) DO UPDATE
        SET name = $2, hash = $3, created_at = clock_timestamp(),
            previous_name = CASE WHEN $4 > 0 THEN s.name END, previous_hash = CASE WHEN $4 > 0 THEN s.hash END,
            previous_until = CASE WHEN $4 > 0 THEN clock_timestamp() + make_interval(secs => $4) END
        RETURNING \(columns)
        """
    ) {
        [$0.secret.bucket.rawValue, $0.secret.name, $0.secret.hash, $0.overlap]
    } decode: { row throws(PostgresError) in
        try EventSecret(row)
    }

    static let ofBucket = Statement<BucketName, EventSecret>(
        "SELECT \(columns) FROM event_secrets s WHERE s.bucket = $1", onlyReads: true
    ) {
        [$0.rawValue]
    } decode: { row throws(PostgresError) in
        try EventSecret(row)
    }

    static let remove = Statement<BucketName, String>(
        "DELETE FROM event_secrets s WHERE s.bucket = $1 RETURNING s.name"
    ) {
        [$0.rawValue]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }
}

extension EventSecret {
    fileprivate init(_ row: borrowing PostgresRow) throws(PostgresError) {
        let bucket: String = try row.decode(0)
        self.init(
            bucket: try parsed(0) { () throws(GatewayError) in try BucketName(bucket) }, name: try row.decode(1),
            hash: try row.decode(2), createdAt: try row.decode(3), previousUntil: try row.decode(4))
    }
}
