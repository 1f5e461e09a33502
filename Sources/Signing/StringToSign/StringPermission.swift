/// What whoever gets a string signed may do: exactly one thing with one object, until one instant.
public struct StringPermission: Sendable, Hashable {
    /// How the signature would be used.
    public enum Use: Sendable, Hashable {
        /// In the `Authorization` header of a request of about this date.
        case header(SigningInstant)
        /// In a URL that lives until then.
        case presignedURL(expiresAt: SigningInstant)
    }

    /// What it does with the object.
    public let operation: ObjectOperation
    /// Name of the bucket, well-formed.
    public let bucket: String
    /// Key of the object, one that nobody rewrites.
    public let key: String
    /// Id of the upload in parts; whoever asks has to be the one who started it.
    public let uploadID: String?
    /// Number of the part, 1…10,000.
    public let partNumber: Int?
    /// The content type that is bound; `nil` binds its absence where ``bindsAbsentContentType``.
    public let contentType: String?
    /// Whether a request with a content type is refused by the store when ``contentType`` is `nil`.
    public let bindsAbsentContentType: Bool
    /// The MD5 of the body that is bound, base64 of 16 bytes.
    public let contentMD5: String?
    /// The length of the body that is bound.
    public let contentLength: Int64?
    /// In a header or in a URL.
    public let use: Use
    /// Last instant at which a store can be expected to accept the signature.
    public let validUntil: SigningInstant
    /// Further headers that are bound, names in lower case.
    public let headers: [NamedValue]
    /// Query parameters that are bound, but for those of the signature.
    public let query: [NamedValue]
}

/// A string that has passed every rule and may be signed once grants permit it.
///
/// Nothing else can make one, so that no text reaches a key unread.
public struct PermittedString: Sendable, Hashable {
    /// What its signature allows.
    public let permission: StringPermission
    /// The string, written again from what was understood.
    public let text: String
}

/// What strings are held to.
public struct StringRules: Sendable, Hashable {
    /// Seconds by which a date may differ from now; stores allow the same.
    public static let dateToleranceSeconds = 900

    /// Now.
    public let now: SigningInstant
    /// Seconds from now that a URL may live.
    public let maxLifeSeconds: Int
    /// Token of the credential that would sign, when that is a temporary one.
    public let securityToken: String?

    /// Puts rules together.
    public init(now: SigningInstant, maxLifeSeconds: Int, securityToken: String? = nil) {
        self.now = now
        self.maxLifeSeconds = maxLifeSeconds
        self.securityToken = securityToken
    }

    /// Checks the date of a request that is signed in a header; gives the instant until which stores accept it.
    func check(date: SigningInstant) throws(StringToSignRefusal) -> SigningInstant {
        guard abs(date.epochSeconds - now.epochSeconds) <= Int64(Self.dateToleranceSeconds) else {
            throw .dateOutsideWindow
        }
        return SigningInstant(clampingEpochSeconds: date.epochSeconds + Int64(Self.dateToleranceSeconds))
    }

    /// Checks the end of a URL's life.
    func check(expiry: SigningInstant) throws(StringToSignRefusal) {
        guard now < expiry else { throw .expired }
        guard expiry.epochSeconds - now.epochSeconds <= Int64(max(0, maxLifeSeconds)) else { throw .expiryTooFar }
    }

    /// Checks a token that the request carries, or the absence of one.
    func check(securityToken given: String?) throws(StringToSignRefusal) {
        guard given.map({ Array($0.utf8) }) == securityToken.map({ Array($0.utf8) }) else { throw .securityToken }
    }
}
