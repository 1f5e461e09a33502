public import GatewayCore
import Signing

/// Something that Sluice promises, which the store has to keep.
public enum StorePromise: String, Sendable, CaseIterable, Codable {
    /// What was permitted works.
    case works
    /// The signature decides: without it, or with another one, nothing works.
    case signature
    /// A link is for one method.
    case method
    /// A link is for one key.
    case key
    /// A link ends.
    case expiry
    /// The content type is the bound one.
    case contentType
    /// The bytes are the bound ones: MD5 or SHA-256.
    case content
    /// The size is the bound one, or in the bound range.
    case size
    /// The metadata are the bound ones, and the ACL where a form binds it.
    case metadata
    /// The store obeys no header or parameter that is not signed.
    case nothingMore
    /// An upload bound to creation replaces nothing.
    case creationOnly
    /// The headers of a download's answer are the bound ones.
    case answerHeaders
    /// A part is for one number of one upload.
    case part
    /// Temporary credentials are for one place and for reading and writing.
    case scope
    /// The region in a signature is compared. Sluice promises nothing about it.
    case region
}

/// Whether a store keeps a promise in one case.
public enum Verdict: String, Sendable, Codable {
    /// It does.
    case kept
    /// It does not.
    case broken
    /// It is more lenient than its protocol, which breaks no promise.
    case noted
    /// That could not be found out.
    case notJudged
}

/// The result of one check.
public struct Judgement: Sendable, Equatable {
    /// The scheme that signed.
    public var scheme: Bucket.Scheme
    /// How the permission was delivered.
    public var delivery: Delivery
    /// What is at stake.
    public var promise: StorePromise
    /// What was tried, such as `another content type`.
    public var check: String
    /// Whether the promise is kept.
    public var verdict: Verdict
    /// What the store answered, or why there is no judgement.
    public var detail: String
    /// Whether the check applies to the store and could not be concluded: the store was in trouble, or something that
    /// the check needs failed.
    public var isOpen = false
}

/// What a qualification found.
public struct QualificationReport: Sendable {
    /// The checks that a store ignores unsigned times of an object: of its removal, and of its writing.
    public static let unsignedTimes = UnsignedHeader.times.map { "\($0.name), unsigned" }

    /// All judgements, in the order of the checks.
    public var judgements: [Judgement]
    /// Number of requests that were sent.
    public var requests: Int
    /// The prefix of all keys that were used.
    public var prefix: String
    /// Keys of objects that could not be removed, and uploads in parts that could not be aborted.
    public var leftBehind: [String]
    /// Whether checks were not made because the time was up, or the qualification was stopped.
    public var isCutShort: Bool

    /// Whether a promise is broken.
    public var isBroken: Bool { judgements.contains { $0.verdict == .broken } }

    /// Whether checks that apply to the store could not be concluded. Those that need them were not made.
    public var isInconclusive: Bool { judgements.contains(where: \.isOpen) }

    /// The worst verdict about a promise; `nil` if it was not tried.
    public func verdict(on promise: StorePromise) -> Verdict? {
        let verdicts = Set(judgements.lazy.filter { $0.promise == promise }.map(\.verdict))
        return [.broken, .noted, .kept, .notJudged].first { verdicts.contains($0) }
    }
}
