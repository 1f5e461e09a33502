public import FoundationEssentials
import LibCrypto

/// What operators learn about a refusal. It holds no token, no signature and no object key.
public struct RefusalNote: Sendable, Equatable {
    /// The stable code of the answer, such as `AccessDenied`.
    public var code: String
    /// The reason.
    public var reason: RefusalReason
    /// What the reason concerns: the condition that failed, the issuer, the prefix of the API key, the cause of a
    /// failure. At most ``maxSubjectBytes`` bytes.
    public var subject: String?
    /// What was asked for; `nil` if the request was refused before that was known.
    public var target: RefusalTarget?
    /// The grant that denied, or whose condition failed.
    public var grantID: UUID?

    /// Longest ``subject``, in bytes.
    static let maxSubjectBytes = 256

    /// Creates a note. A longer subject is cut.
    public init(
        code: String, _ reason: RefusalReason, subject: String? = nil, target: RefusalTarget? = nil,
        grantID: UUID? = nil
    ) {
        self.code = code
        self.reason = reason
        self.subject = subject.flatMap { $0.isEmpty ? nil : Self.shortened($0) }
        self.target = target
        self.grantID = grantID
    }

    private static func shortened(_ text: String) -> String {
        var room = maxSubjectBytes
        return String(
            text.prefix { character in
                room -= character.utf8.count
                return room >= 0
            })
    }
}

/// The object that a refused request asked for, without its key.
public struct RefusalTarget: Sendable, Equatable {
    /// The bucket that was named. It need not exist.
    public let bucket: BucketName
    /// The action; `nil` if there are several.
    public let action: Action?
    /// The folder of the key: what a grant on a prefix could name, whole segments of at most ``maxPrefixBytes`` bytes.
    /// The last segment of the key is never part of it.
    public let keyPrefix: String
    /// SHA-256 of the key. It is not keyed, so that an admin who is told a key can look for it.
    public let keySHA256: [UInt8]

    /// Longest ``keyPrefix``, in bytes.
    static let maxPrefixBytes = 128

    /// Creates a target from what was kept of it.
    public init(bucket: BucketName, action: Action?, keyPrefix: String, keySHA256: [UInt8]) {
        self.bucket = bucket
        self.action = action
        self.keyPrefix = keyPrefix
        self.keySHA256 = keySHA256
    }

    /// Describes a key, or for credentials that cover many keys the text with which all of them begin.
    public init(_ action: Action?, on key: String, in bucket: BucketName) {
        self.bucket = bucket
        self.action = action
        let bytes = key.utf8.prefix(Self.maxPrefixBytes)
        keyPrefix = bytes.lastIndex(of: UInt8(ascii: "/")).map { String(Substring(bytes[...$0])) } ?? ""
        keySHA256 = DigestAlgorithm.sha256.digest(of: key).bytes
    }
}

extension GatewayError {
    /// What operators learn about a refusal from the error alone; `nil` for errors that refuse nobody: malformed
    /// requests, missing resources and conflicts.
    public var refusal: RefusalNote? {
        switch self {
        case .unauthenticated(let reason, let cause):
            RefusalNote(
                code: code, cause.refusal ?? .credentialNotAccepted,
                subject: cause.description.isEmpty ? reason : cause.description)
        case .credentialExpired(let cause):
            RefusalNote(code: code, cause.refusal ?? .tokenExpired, subject: cause.description)
        case .accessDenied: RefusalNote(code: code, .notPermitted)
        case .conditionFailed(let failure): RefusalNote(code: code, .conditionFailed, subject: failure.name)
        case .roleRequired(let role): RefusalNote(code: code, .roleMissing, subject: role)
        case .outsideAdminScope: RefusalNote(code: code, .outsideAdminScope)
        case .entityTooLarge(let maxBytes):
            RefusalNote(code: code, .entityTooLarge, subject: "at most \(maxBytes) bytes")
        case .notEnforceable(let reason): RefusalNote(code: code, .notEnforceable, subject: reason)
        case .quotaExceeded(let refusal): RefusalNote(code: code, .quotaExceeded, subject: "quota \(refusal.quotaID)")
        case .itemsRefused(let first, _): first.error.refusal
        case .storeRefused, .unproven, .slowDown, .staleCaller, .unavailable, .clockDiffers:
            RefusalNote(code: code, .failed, subject: cause?.description)
        case .invalidArgument, .notFound, .alreadyExists, .conflict, .preconditionFailed, .idempotency: nil
        }
    }
}

extension ConditionFailure {
    /// The name of the grant's member, or of the bucket's, that the answer has in its member `condition`.
    public var name: String {
        switch self {
        case .contentType, .scriptableContentType: "contentTypes"
        case .contentMD5Required: "requireContentMD5"
        case .contentLengthRequired: "maxBytes"
        case .sourceAddress: "sourceCIDRs"
        case .redirect: "allowsRedirects"
        case .responseContentType: "allowResponseContentType"
        case .forcedDownload: "forceDownload"
        case .versions: "allowVersions"
        case .notYetValid: "notBefore"
        case .noLongerValid: "notAfter"
        }
    }
}
