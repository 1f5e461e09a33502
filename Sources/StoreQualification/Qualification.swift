public import FoundationEssentials
public import GatewayCore

/// Tests whether a store enforces what links bind: rightful requests, and changed ones that it has to refuse.
///
/// All keys lie below one prefix with a random name, and everything there is removed at the end. The number of requests
/// and the time are bounded.
public struct Qualification: Sendable {
    /// The beginning of every key.
    public static let place = "sluice-qualify/"

    private let bucket: Bucket
    private let credential: StorageCredential
    private let opener: any SessionOpener
    private let transport: StoreTransport
    private let now: @Sendable () -> Date
    private let time: CheckingTime

    /// Prepares a qualification.
    ///
    /// - Parameters:
    ///   - bucket: The bucket.
    ///   - credential: Its credential.
    ///   - opener: Opens sessions for the credential's role.
    ///   - transport: Sends requests to the store.
    ///   - now: The clock of the signatures.
    ///   - patience: Time for all checks, from now on; what is left then is not judged.
    public init(
        _ bucket: Bucket, _ credential: StorageCredential, opener: any SessionOpener,
        transport: @escaping StoreTransport,
        now: @escaping @Sendable () -> Date, patience: Duration
    ) {
        self.bucket = bucket
        self.credential = credential
        self.opener = opener
        self.transport = transport
        self.now = now
        time = CheckingTime(patience)
    }

    /// The schemes that the bucket may have: those of its provider and its credential, its own first.
    public var schemes: [Bucket.Scheme] {
        let all: [Bucket.Scheme] =
            switch (bucket.provider, credential.kind) {
            // It signs links to a content delivery network alone.
            case (_, .keyPair): []
            case (.aws, _), (.s3, _): [.awsV4, .awsV2]
            case (.oss, _): [.ossV4, .ossV1]
            case (.gcs, .accessKey): [.gcsV4HMAC]
            case (.gcs, .serviceAccount): [.gcsV4RSA, .gcsV2RSA]
            }
        return [bucket.scheme] + all.filter { $0 != bucket.scheme }
    }

    /// Ends the time for checks. What was made is still removed.
    public func stop() { time.end() }

    /// Tries the bucket with some schemes.
    public func run(_ schemes: [Bucket.Scheme]) async -> QualificationReport {
        let prefix = Self.place + UUID().uuidString.lowercased() + "/"
        var report = QualificationReport(judgements: [], requests: 0, prefix: prefix, leftBehind: [], isCutShort: false)
        for scheme in schemes {
            var trial = bucket
            trial.scheme = scheme
            let round = QualificationRound(
                trial, credential, prefix: prefix + scheme.rawValue + "/", transport: transport, now: now,
                time: time)
            if await round.tryUploads() {
                await round.tryDownloads()
                await round.tryForms()
                await round.tryParts()
                if scheme == bucket.scheme {
                    await round.trySession(opener)
                    await round.trySignatures()
                }
            }
            report.leftBehind += await round.clean()
            report.judgements += await round.judgements
            report.requests += await round.requests
            if await round.isCutShort { report.isCutShort = true }
        }
        return report
    }
}
