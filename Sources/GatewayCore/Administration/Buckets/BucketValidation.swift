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
        /// Whether the request named a version of the object.
        public var isOfVersion: Bool
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
            isOfVersion: Bool = false, failure: ProbeFailure? = nil, status: Int? = nil, duration: Duration? = nil,
            advice: String? = nil
        ) {
            self.step = step
            self.outcome = outcome
            self.origin = origin
            self.endpoint = endpoint
            self.isOfVersion = isOfVersion
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
    /// Whether the probe object may still exist, or an upload that got no answer may still arrive.
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
