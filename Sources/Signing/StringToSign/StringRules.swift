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
