import LibCrypto

/// What a live check of a bucket found, step by step.
public struct BucketValidation: Sendable, Equatable {
    /// A step of the check, in the order in which they are made.
    public enum Step: String, Sendable, CaseIterable {
        /// The probe object is written.
        case put
        /// It is read, and holds what was written.
        case get
        /// Its length is asked for.
        case head
        /// A link to upload comes with an access list that it does not bind, which must not be obeyed.
        case unsignedACL = "unsigned-acl"
        /// A link to upload comes with an object to copy that it does not bind, which must not be copied.
        case unsignedCopy = "unsigned-copy"
        /// Other bytes arrive than those whose SHA-256 a link binds, which must be refused.
        case checksum
        /// It is removed.
        case delete
        /// It is asked for once more, and is gone.
        case absent
        /// A page of an origin asks whether it may upload.
        case preflight
        /// The store's clock is compared with the gateway's.
        case clock
    }

    /// How a step ended.
    public enum Outcome: String, Sendable, CaseIterable {
        case passed
        /// Links work, but something else will not.
        case warned
        case failed
        /// What the step needs was not there.
        case skipped
    }

    /// What one step found.
    public struct Finding: Sendable, Equatable {
        /// The step.
        public var step: Step
        /// How it ended.
        public var outcome: Outcome
        /// The origin of a preflight.
        public var origin: String?
        /// Why it did not pass.
        public var failure: ProbeFailure?
        /// The status of the store's answer, if there was one.
        public var status: Int?
        /// How long it took.
        public var duration: Duration?
        /// What to do about it.
        public var advice: String?

        /// Describes a step.
        public init(
            step: Step, outcome: Outcome, origin: String? = nil, failure: ProbeFailure? = nil, status: Int? = nil,
            duration: Duration? = nil, advice: String? = nil
        ) {
            self.step = step
            self.outcome = outcome
            self.origin = origin
            self.failure = failure
            self.status = status
            self.duration = duration
            self.advice = advice
        }
    }

    /// The key of the probe object.
    public var probeKey: ObjectKey
    /// What was found, in the order of the steps.
    public var findings: [Finding]
    /// Whether the probe object may still be there.
    public var leavesProbe: Bool
    /// Seconds by which the store's clock is ahead of the gateway's, where it was told.
    public var clockDifference: Int?

    /// Puts the findings together.
    public init(probeKey: ObjectKey, findings: [Finding], leavesProbe: Bool, clockDifference: Int?) {
        self.probeKey = probeKey
        self.findings = findings
        self.leavesProbe = leavesProbe
        self.clockDifference = clockDifference
    }

    /// Whether no step failed.
    public var isValid: Bool { !findings.contains { $0.outcome == .failed } }
}

/// Why a step of a live check did not pass; nothing of what the store wrote but its code, a plain word.
public enum ProbeFailure: Sendable, Equatable {
    /// The endpoint's address is not public, and not listed; nothing was sent there.
    case blocked
    /// The endpoint's name stands for no address.
    case nameNotFound
    /// Nothing took the connection.
    case unreachable
    /// There was no whole answer in time.
    case timedOut
    /// There is no TLS, or the certificate is not one for the endpoint's name.
    case tls
    /// The answer was no HTTP, or too long.
    case unreadable
    /// The store sends the gateway elsewhere; to a region of that name, if it says so.
    case redirected(region: String?)
    /// The store said no; its code, if it gave one.
    case refused(status: Int, code: String?)
    /// The store answered with something else than what was to be there.
    case unexpected
    /// The clocks differ.
    case clockDifference
    /// The row of the credential cannot be signed with.
    case notSignable

    /// A stable word for programs.
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

    /// The store's code, if it gave one.
    public var code: String? {
        if case .refused(_, let code) = self { code } else { nil }
    }
}

/// Tries a bucket and its credential out at the store.
public protocol BucketValidator: Sendable {
    /// Writes a probe object, reads it, removes it, and has the store asked as pages of the bucket's origins would.
    ///
    /// - Returns: What was found, with advice; every failure is a finding.
    func validate(_ bucket: Bucket, with credential: StorageCredential, probe: ObjectKey) async -> BucketValidation
}

/// Names of probe objects.
public enum ProbeKey {
    /// What all of them begin with, so that a rule of the store can sweep up what was left.
    public static let prefix = ".sluice-probe/"
    /// Random bytes that one is made of.
    public static let randomByteCount = 16

    /// Makes a name that nobody can guess.
    public static func make(randomBytes: [UInt8]) throws(GatewayError) -> ObjectKey {
        guard randomBytes.count == randomByteCount else {
            throw .unavailable(retryAfter: 1, cause: "the system gives no random bytes")
        }
        return try ObjectKey(prefix + Hex.encode(randomBytes))
    }
}
