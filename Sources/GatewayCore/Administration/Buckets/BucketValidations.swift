/// Tests buckets and their credentials at their stores, for admins.
public struct BucketValidations: Sendable {
    private let buckets: any AdminStore<Bucket>
    private let credentials: any AdminStore<StorageCredential>
    private let validator: any BucketValidator
    private let audit: any AuditLog
    private let random: RandomSource
    /// Limits concurrent checks, as each one holds connections to a store for some seconds.
    private let gate = Gate(size: 8)

    /// Creates the use case from its parts.
    public init(
        buckets: any AdminStore<Bucket>, credentials: any AdminStore<StorageCredential>,
        validator: any BucketValidator, audit: any AuditLog, randomBytes: @escaping @Sendable (Int) throws -> [UInt8]
    ) {
        self.buckets = buckets
        self.credentials = credentials
        self.validator = validator
        self.audit = audit
        random = RandomSource(randomBytes)
    }

    /// Tests a bucket. The audit entry is written before the probe object, to explain the object to anyone who finds it
    /// in the bucket later.
    ///
    /// - Throws: `notFound`, `slowDown` if too many checks run, `unavailable`.
    public func validate(_ name: BucketName, by change: ChangeContext) async throws(GatewayError) -> BucketValidation {
        let bucket = try await buckets.get(name.rawValue).row
        let credential = try await credentials.get(bucket.credentialID.lowercaseText).row
        var cdnCredential: StorageCredential?
        if let signing = bucket.publicEndpoints[.cdn]?.signing {
            cdnCredential = try await credentials.get(signing.credentialID.lowercaseText).row
        }
        let probe = try ProbeKey.make(randomBytes: random.bytes(ProbeKey.randomByteCount))
        return try await gate.pass { () async throws(GatewayError) in
            try await audit.note(
                AuditedAct(.validate, .bucket, name.rawValue, details: ["probeKey": probe.rawValue]), by: change)
            return await validator.validate(bucket, with: credential, cdnCredential, probe: probe)
        }
    }
}
