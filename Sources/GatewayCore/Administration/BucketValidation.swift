import Bytes
import LibCrypto

/// The result of a live check of a bucket, step by step.
public struct BucketValidation: Sendable, Equatable {
    /// The steps of the check, in the order in which they run.
    public enum Step: String, Sendable, CaseIterable {
        /// Writes the probe object.
        case put
        /// Reads the probe object and compares it with what was written.
        case get
        /// Asks for the probe object's length.
        case head
        /// Compares the time that the store notes for the probe object with the gateway's clock.
        case writeTime = "write-time"
        /// Reads the probe object through one of the bucket's public endpoints.
        case endpoint
        /// Reads the probe object at the bucket's CDN without a signature. The CDN must refuse it.
        case unsignedLink = "unsigned-link"
        /// Reads the probe object by a link to the bucket's CDN that has ended. The CDN must refuse it.
        case expiredLink = "expired-link"
        /// Uploads by a link to the bucket's CDN that is for a download. The CDN must refuse it.
        case uploadByLink = "upload-by-link"
        /// Reads the probe object by a link to the bucket's CDN that somebody added a parameter of Alibaba OSS to. The
        /// CDN must not hand it to the store.
        case addedParameter = "added-parameter"
        /// Sends an upload link with an access list that the link does not bind. The store must not obey it.
        case unsignedACL = "unsigned-acl"
        /// Sends an upload link with a copy source that the link does not bind. The store must not copy the object.
        case unsignedCopy = "unsigned-copy"
        /// Sends an upload link with a time of removal, and one of writing, that the link does not bind. The store must
        /// obey neither.
        case unsignedTimes = "unsigned-times"
        /// Sends an upload link with the demand to guess a content type, which the link does not bind. The store must
        /// keep the type that the link binds.
        case unsignedType = "unsigned-type"
        /// Sends an upload link with other bytes than those whose SHA-256 it binds. The store must refuse them.
        case checksum
        /// Removes the probe object.
        case delete
        /// Asks for the probe object again; it must be gone.
        case absent
        /// Asks, as a page of an allowed origin would, whether it may upload.
        case preflight
        /// Compares the store's clock with the gateway's.
        case clock
    }

    /// The outcome of a step.
    public enum Outcome: String, Sendable, CaseIterable {
        case passed
        /// Links work, but something else does not.
        case warned
        case failed
        /// A precondition of the step was not met.
        case skipped
    }

    /// The finding of one step.
    public struct Finding: Sendable, Equatable {
        /// The step that was run.
        public var step: Step
        /// The outcome of the step.
        public var outcome: Outcome
        /// The origin, for a preflight step.
        public var origin: String?
        /// The name of the public endpoint, for a step that tries one.
        public var endpoint: PublicEndpoint.Name?
        /// The reason why the step did not pass.
        public var failure: ProbeFailure?
        /// The status of the store's answer, if there was one.
        public var status: Int?
        /// Duration of the step.
        public var duration: Duration?
        /// Advice on what to do about the failure.
        public var advice: String?

        /// Creates the finding of a step.
        public init(
            step: Step, outcome: Outcome, origin: String? = nil, endpoint: PublicEndpoint.Name? = nil,
            failure: ProbeFailure? = nil, status: Int? = nil, duration: Duration? = nil, advice: String? = nil
        ) {
            self.step = step
            self.outcome = outcome
            self.origin = origin
            self.endpoint = endpoint
            self.failure = failure
            self.status = status
            self.duration = duration
            self.advice = advice
        }
    }

    /// The key of the probe object.
    public var probeKey: ObjectKey
    /// The findings, in the order of the steps.
    public var findings: [Finding]
    /// Whether the probe object may still exist.
    public var leavesProbe: Bool
    /// Seconds by which the store's clock is ahead of the gateway's, if known.
    public var clockDifference: Int?

    /// Creates a result from its findings.
    public init(probeKey: ObjectKey, findings: [Finding], leavesProbe: Bool, clockDifference: Int?) {
        self.probeKey = probeKey
        self.findings = findings
        self.leavesProbe = leavesProbe
        self.clockDifference = clockDifference
    }

    /// Whether no step failed.
    public var isValid: Bool { !findings.contains { $0.outcome == .failed } }
}

/// The reason why a step of a live check did not pass. It contains nothing written by the store except its error code,
/// a plain word.
public enum ProbeFailure: Error, Sendable, Equatable {
    /// The endpoint's address is neither public nor allow-listed; nothing was sent to it.
    case blocked
    /// The endpoint's name resolves to no address.
    case nameNotFound
    /// No server accepted the connection.
    case unreachable
    /// No complete answer arrived in time.
    case timedOut
    /// The server does not speak TLS, or its certificate does not match the endpoint's name.
    case tls
    /// The answer was not HTTP, or too long.
    case unreadable
    /// The store redirects to another endpoint; `region` is the bucket's region if the store names it.
    case redirected(region: String?)
    /// The store refused the request; `code` is its error code, if it sent one.
    case refused(status: Int, code: String?)
    /// The store's answer was not the expected one.
    case unexpected
    /// The clocks of gateway and store differ.
    case clockDifference
    /// The credential's row is unusable for signing.
    case notSignable

    /// A stable word for programs, such as `timed-out`.
    public var word: String {
        switch self {
        case .blocked: "blocked"
        case .nameNotFound: "name-not-found"
        case .unreachable: "unreachable"
        case .timedOut: "timed-out"
        case .tls: "tls"
        case .unreadable: "unreadable"
        case .redirected: "redirected"
        case .refused: "refused"
        case .unexpected: "unexpected"
        case .clockDifference: "clock-difference"
        case .notSignable: "not-signable"
        }
    }

    /// The store's error code, if it sent one.
    public var code: String? {
        if case .refused(_, let code) = self { code } else { nil }
    }
}

/// Tests a bucket and its credentials against the store.
public protocol BucketValidator: Sendable {
    /// Writes, reads and removes a probe object, and sends the requests that pages of the bucket's origins would send.
    ///
    /// - Parameters:
    ///   - bucket: The bucket.
    ///   - credential: The credential that signs for the bucket at its store.
    ///   - cdnCredential: The credential that signs links to the bucket's CDN, if it names one.
    ///   - probe: The key of the probe object.
    /// - Returns: The findings with advice. Every failure is a finding, never an error.
    func validate(
        _ bucket: Bucket, with credential: StorageCredential, _ cdnCredential: StorageCredential?, probe: ObjectKey
    ) async -> BucketValidation
}

/// Generates names of probe objects.
enum ProbeKey {
    /// The prefix of all probe objects. A lifecycle rule at the store can use it to remove leftovers.
    static let prefix = ".sluice-probe/"
    /// Number of random bytes in a name.
    static let randomByteCount = 16

    /// Generates an unguessable name.
    static func make(randomBytes: [UInt8]) throws(GatewayError) -> ObjectKey {
        guard randomBytes.count == randomByteCount else {
            throw .unavailable(retryAfter: 1, cause: "the system gives no random bytes")
        }
        return try ObjectKey(prefix + Hex.encode(randomBytes))
    }
}
