public import FoundationEssentials
public import GatewayCore
public import LibPQ
public import Logging

/// Keeps the event messages of stores, and the secrets that authenticate them, in PostgreSQL.
public struct PostgresStoreEvents: StoreEventRecords {
    private static let complaint: Logger.Message = "events of stores cannot be read or written"

    private let pool: PostgresPool
    private let statements: StorePool
    private let lookUps: StorePool
    private let logger: Logger
    private let now: @Sendable () -> Date

    /// Creates an adapter.
    ///
    /// - Parameters:
    ///   - pool: Connections logged in as the gateway.
    ///   - lookUps: A second such pool, only for looking up secrets. Anybody can send secrets, and a flood of them must
    ///     not take the connections that other work needs.
    ///   - logger: Receives the reasons why rows cannot be read or written.
    ///   - now: Returns the current time, for identifiers in the audit.
    public init(
        pool: PostgresPool, lookUps: PostgresPool, logger: Logger, now: @escaping @Sendable () -> Date
    ) {
        self.pool = pool
        statements = StorePool(pool: pool, logger: logger, complaint: Self.complaint)
        self.lookUps = StorePool(pool: lookUps, logger: logger, complaint: Self.complaint)
        self.logger = logger
        self.now = now
    }

    /// Reads the bucket and the hash of a secret by its name, if the secret is valid now.
    public func secret(named name: String) async throws(GatewayError) -> (bucket: BucketName, hash: [UInt8])? {
        try await lookUps.execute(EventSecretTable.named, name).first
    }

    /// Records objects that were created in a bucket. Returns how many of them were new.
    public func note(_ objects: [MadeObject], in bucket: BucketName) async throws(GatewayError) -> Int {
        let new = try await statements.execute(StoreEventTable.insert, (bucket, objects)).first
        return Int(new ?? 0)
    }

    /// Replaces a bucket's secret by a new one.
    public func rotate(
        _ secret: EventSecret, overlap: Int, by change: ChangeContext
    ) async throws(GatewayError) -> EventSecret {
        let act = AuditedAct(.rotate, .eventSecret, secret.bucket.rawValue, details: ["name": secret.name])
        let entry = try UUID.new(at: now())
        do {
            return try await pool.withChange(change) { transaction in
                guard let kept = try transaction.execute(EventSecretTable.rotate, (secret, Int32(overlap))).first else {
                    throw GatewayError.notFound(.bucket)
                }
                _ = try transaction.execute(AuditTable.note, (entry, act, change))
                try transaction.prove(change)
                return kept
            }
        } catch {
            throw refusal(error, of: change)
        }
    }

    /// Reads the state kept for a bucket's secret.
    public func secret(of bucket: BucketName) async throws(GatewayError) -> EventSecret? {
        try await statements.execute(EventSecretTable.ofBucket, bucket).first
    }

    /// Removes all secrets of a bucket.
    public func removeSecret(of bucket: BucketName, by change: ChangeContext) async throws(GatewayError) -> Bool {
        let entry = try UUID.new(at: now())
        do {
            return try await pool.withChange(change) { transaction in
                guard let name = try transaction.execute(EventSecretTable.remove, bucket).first else {
                    try transaction.perform(AdminStatements.writeNothing, ())
                    return false
                }
                let act = AuditedAct(.delete, .eventSecret, bucket.rawValue, details: ["name": name])
                _ = try transaction.execute(AuditTable.note, (entry, act, change))
                try transaction.prove(change)
                return true
            }
        } catch {
            throw refusal(error, of: change)
        }
    }

    private func refusal(_ error: any Error, of change: ChangeContext) -> GatewayError {
        logger.refusal(
            ofChange: error, Self.complaint, in: pool.outage, metadata: ["request.id": "\(change.requestID)"])
    }
}
