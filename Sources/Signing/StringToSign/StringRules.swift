import Bytes
import StrictJSON

/// The rules for strings to sign from clients.
public struct StringRules: Sendable, Hashable {
    /// How far a date may be from now, in seconds. Stores allow the same.
    static let dateToleranceSeconds = 900

    /// Now.
    public let now: SigningInstant
    /// Maximum life of a URL from now, in seconds.
    public let maxLifeSeconds: Int
    /// Token of the credential that would sign, if it is temporary.
    public let securityToken: String?
    /// The only callback that a request may ask for.
    public let callback: Callback?
    /// Headers of the vendor that a request may have with exactly these values, names in lower case.
    public let encryption: [NamedValue]
    /// Whether the store may take the version 2 string of a part for that of a whole object, and choose an object's
    /// type by the key. At Alibaba OSS that is always so.
    public let partsNeedType: Bool

    /// The call that a store makes when it has the object.
    public struct Callback: Sendable, Hashable {
        /// Value of `callback`: base64 of JSON with the address and the body.
        public let value: String
        /// Value of `callback-var`: base64 of JSON with the values of variables.
        public let variables: String?

        /// Describes a callback.
        public init(value: String, variables: String?) {
            self.value = value
            self.variables = variables
        }
    }

    /// Makes rules.
    public init(
        now: SigningInstant, maxLifeSeconds: Int, securityToken: String? = nil, callback: Callback? = nil,
        encryption: [NamedValue] = [], partsNeedType: Bool = false
    ) {
        self.now = now
        self.maxLifeSeconds = maxLifeSeconds
        self.securityToken = securityToken
        self.callback = callback
        self.encryption = encryption
        self.partsNeedType = partsNeedType
    }

    /// Checks the date of a request that is signed in a header, and returns the last instant at which stores accept it.
    /// It is in the future, as the end of a URL's life is.
    func check(date: SigningInstant) throws(StringToSignRefusal) -> SigningInstant {
        let tolerance = Int64(Self.dateToleranceSeconds)
        let end = SigningInstant(clampingEpochSeconds: date.epochSeconds + tolerance)
        guard now < end, date.epochSeconds - now.epochSeconds <= tolerance else { throw .dateOutsideWindow }
        return end
    }

    /// Checks the end of a URL's life.
    func check(expiry: SigningInstant) throws(StringToSignRefusal) {
        guard now < expiry else { throw .expired }
        guard expiry.epochSeconds - now.epochSeconds <= Int64(max(0, maxLifeSeconds)) else { throw .expiryTooFar }
    }

    /// Removes the allowed callback from parameters or headers. Any other callback stays, and is refused later.
    ///
    /// Only requests that write the whole object may have it. The callback and its variables are allowed only together.
    /// SDKs compose the JSON by themselves, each with an order and with escapes of its own; what it says is compared.
    func withoutCallback(_ values: [NamedValue], prefix: String, method: String) -> [NamedValue] {
        guard let callback, method == "PUT" || method == "POST" else { return values }
        let allowed =
            [NamedValue(prefix + "callback", callback.value)]
            + (callback.variables.map { [NamedValue(prefix + "callback-var", $0)] } ?? [])
        let given = values.filter { $0.name == prefix + "callback" || $0.name == prefix + "callback-var" }
        guard given.count == allowed.count,
            zip(given, allowed).allSatisfy({ $0.name == $1.name && Self.saysSame($0.value, $1.value) })
        else { return values }
        return values.filter { !given.contains($0) }
    }

    /// Whether two values are the same bytes, or base64 of JSON that says the same.
    private static func saysSame(_ value: String, _ other: String) -> Bool {
        if value.isSameBytes(as: other) { return true }
        guard let value = json(value), let other = json(other) else { return false }
        return value.isEquivalent(to: other)
    }

    /// Reads base64 of JSON. Each has one reading only: the reader refuses what others may read in two ways, such as a
    /// name that occurs twice.
    private static func json(_ base64: String) -> JSONValue? {
        guard let bytes = Base64.decode(base64) else { return nil }
        return try? JSONReader.read(bytes)
    }

    /// Checks that the request carries the expected token, or none if none is expected.
    func check(securityToken given: String?) throws(StringToSignRefusal) {
        guard given.map({ Array($0.utf8) }) == securityToken.map({ Array($0.utf8) }) else { throw .securityToken }
    }
}
