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
    /// The one callback that a request may ask for: the value of `callback`, and that of `callback-var` if it has one.
    public let callback: Callback?

    /// What a store calls when it has the object.
    public struct Callback: Sendable, Hashable {
        /// Base64 of the JSON that says whom, and what to send.
        public let value: String
        /// Base64 of the JSON with the values of variables.
        public let variables: String?

        /// Puts both together.
        public init(value: String, variables: String?) {
            self.value = value
            self.variables = variables
        }
    }

    /// Puts rules together.
    public init(now: SigningInstant, maxLifeSeconds: Int, securityToken: String? = nil, callback: Callback? = nil) {
        self.now = now
        self.maxLifeSeconds = maxLifeSeconds
        self.securityToken = securityToken
        self.callback = callback
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

    /// Takes the callback out of parameters or headers, if it is the one that is allowed; else they stay, to be refused as any other.
    ///
    /// Only what writes the object at once may have it. One without the variables that go with it, or with them alone, is another.
    func withoutCallback(_ values: [NamedValue], prefix: String, method: String) -> [NamedValue] {
        guard let callback, method == "PUT" || method == "POST" else { return values }
        let allowed =
            [NamedValue(prefix + "callback", callback.value)]
            + (callback.variables.map { [NamedValue(prefix + "callback-var", $0)] } ?? [])
        let given = values.filter { $0.name == prefix + "callback" || $0.name == prefix + "callback-var" }
        guard given.count == allowed.count,
            zip(given, allowed).allSatisfy({ $0.name == $1.name && $0.value.utf8.elementsEqual($1.value.utf8) })
        else { return values }
        return values.filter { !given.contains($0) }
    }

    /// Checks a token that the request carries, or the absence of one.
    func check(securityToken given: String?) throws(StringToSignRefusal) {
        guard given.map({ Array($0.utf8) }) == securityToken.map({ Array($0.utf8) }) else { throw .securityToken }
    }
}
