/// The result of a live check of an issuer, step by step.
public struct IssuerValidation: Sendable, Equatable {
    /// The outcome of a step, as for buckets. `warned`: tokens work, but something else is not as it should be.
    public typealias Outcome = BucketValidation.Outcome

    /// The steps of the check, in the order in which they are reported. Those of the sign-in are there if people sign
    /// in to the console at the issuer. Those from ``token`` on judge a token.
    public enum Step: String, Sendable, CaseIterable {
        /// Reads the issuer's discovery document, `<issuer>/.well-known/openid-configuration`.
        case discovery
        /// Compares the name that the document states with the row's.
        case issuer
        /// Compares the URL of the key set that the document states with the row's.
        case keysURL = "keys-url"
        /// Reads the key set, or takes the keys of the row.
        case keySet = "key-set"
        /// Looks for keys that the issuer's algorithms can use.
        case keys
        /// Looks for algorithms of the row that no key can be used with.
        case algorithms
        /// Looks for the endpoints where people sign in to the console.
        case signInEndpoints = "sign-in-endpoints"
        /// Looks for PKCE in the discovery document.
        case signInPKCE = "sign-in-pkce"
        /// Asks the token endpoint whether it accepts the console's client without a secret.
        case signInClient = "sign-in-client"
        /// Asks the token endpoint whether the console's page may read its answers.
        case signInCORS = "sign-in-cors"
        /// Compares the token that the console sends with the row's audiences.
        case signInToken = "sign-in-token"
        /// Asks the authenticator's own rules whether they accept the token.
        case token
        /// Takes the token apart.
        case tokenForm = "token-form"
        /// Compares the token's algorithm with the row's.
        case tokenAlgorithm = "token-alg"
        /// Looks for the key that the token names.
        case tokenKey = "token-kid"
        /// Verifies the signature.
        case tokenSignature = "token-signature"
        /// Compares the `iss` claim with the row's name.
        case tokenIssuer = "token-iss"
        /// Compares the `aud` claim with the row's audiences.
        case tokenAudience = "token-aud"
        /// Compares the `exp` claim with the clock.
        case tokenExpiry = "token-exp"
        /// Compares the `nbf` claim with the clock.
        case tokenNotBefore = "token-nbf"
        /// Compares the `iat` claim with the clock.
        case tokenIssuedAt = "token-iat"
        /// Turns the subject into a principal.
        case tokenSubject = "token-sub"
        /// Turns the groups into principals.
        case tokenGroups = "token-groups"
        /// Reads the roles that the row may confer.
        case tokenRoles = "token-roles"
        /// Reads the claims that templates may use.
        case tokenClaims = "token-claims"

        /// The steps that judge a token, in order.
        public static let ofToken = Array(allCases.drop { $0 != .token })
    }

    /// The finding of one step.
    public struct Finding: Sendable, Equatable {
        /// The step that was run.
        public var step: Step
        /// The outcome of the step.
        public var outcome: Outcome
        /// The URL that was requested.
        public var url: String?
        /// The reason why a request failed.
        public var failure: ProbeFailure?
        /// The status of the answer, if there was one.
        public var status: Int?
        /// Duration of the request.
        public var duration: Duration?
        /// What the document or the token states.
        public var found: String?
        /// What is wrong, and what to do about it.
        public var advice: String?

        /// Creates the finding of a step.
        public init(
            _ step: Step, _ outcome: Outcome, url: String? = nil, failure: ProbeFailure? = nil, status: Int? = nil,
            duration: Duration? = nil, found: String? = nil, advice: String? = nil
        ) {
            self.step = step
            self.outcome = outcome
            self.url = url
            self.failure = failure
            self.status = status
            self.duration = duration
            self.found = found
            self.advice = advice
        }
    }

    /// A key of the issuer's set.
    public struct Key: Sendable, Equatable {
        /// The key's identifier (`kid`).
        public var id: String?
        /// The key type (`kty`).
        public var type: String?
        /// The curve (`crv`).
        public var curve: String?
        /// The length of the key in bits.
        public var bits: Int?
        /// The algorithm that the key names (`alg`).
        public var algorithm: String?
        /// The use that the key names (`use`).
        public var use: String?
        /// The issuer's algorithms with which the key is used; empty for a key that is left out.
        public var usableWith: [String]
        /// Why the key is left out, or what is wrong with it.
        public var advice: String?

        /// Describes a key.
        public init(
            id: String? = nil, type: String? = nil, curve: String? = nil, bits: Int? = nil, algorithm: String? = nil,
            use: String? = nil, usableWith: [String] = [], advice: String? = nil
        ) {
            self.id = id
            self.type = type
            self.curve = curve
            self.bits = bits
            self.algorithm = algorithm
            self.use = use
            self.usableWith = usableWith
            self.advice = advice
        }
    }

    /// Who the holder of the token would be. It authenticates nobody.
    public struct Bearer: Sendable, Equatable {
        /// The user.
        public var principal: Principal
        /// The groups that the token names.
        public var groups: [Principal]
        /// The roles that the token confers, each with the scopes that limit it.
        public var roles: [ConferredRole]
        /// The claims that templates may use, by name.
        public var claims: [String: String]

        /// Describes a holder.
        public init(principal: Principal, groups: [Principal], roles: [ConferredRole], claims: [String: String]) {
            self.principal = principal
            self.groups = groups
            self.roles = roles
            self.claims = claims
        }
    }

    /// The findings, in the order of the steps.
    public var findings: [Finding] = []
    /// The keys of the set, in its order; empty for a shared secret.
    public var keys: [Key] = []
    /// The holder of the token; `nil` without a token, and if its subject or groups cannot be read.
    public var bearer: Bearer?

    /// Creates a result without findings.
    public init() {}

    /// Whether no step failed.
    public var isValid: Bool { !findings.contains { $0.outcome == .failed } }
}

/// The answer to a request for a document of an issuer.
public struct IssuerDocument: Sendable, Equatable {
    /// The body of an answer with status 200, or the reason why there is none.
    public var content: Result<[UInt8], ProbeFailure>
    /// The status of the answer, if there was one.
    public var status: Int?
    /// Duration of the request.
    public var duration: Duration

    /// Describes an answer.
    public init(content: Result<[UInt8], ProbeFailure>, status: Int?, duration: Duration) {
        self.content = content
        self.status = status
        self.duration = duration
    }
}

/// The answers of a token endpoint to a check.
public struct TokenEndpointAnswer: Sendable, Equatable {
    /// The body of the answer to an exchange, whatever its status, or the reason why there is none.
    public var content: Result<[UInt8], ProbeFailure>
    /// The status of that answer, if there was one.
    public var status: Int?
    /// Duration of the exchange.
    public var duration: Duration
    /// Whether pages of the origin may read that answer.
    public var permitsOrigin: Bool
    /// Whether the answer to a preflight request permits the origin.
    public var preflightPermitsOrigin: Bool

    /// Describes the answers.
    public init(
        content: Result<[UInt8], ProbeFailure>, status: Int?, duration: Duration, permitsOrigin: Bool,
        preflightPermitsOrigin: Bool
    ) {
        self.content = content
        self.status = status
        self.duration = duration
        self.permitsOrigin = permitsOrigin
        self.preflightPermitsOrigin = preflightPermitsOrigin
    }
}

/// Requests documents of issuers.
public protocol IssuerDocuments: Sendable {
    /// Requests the document at a URL. The rules of ``KeySetFetcher`` apply. Every failure is part of the answer.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - limit: Time for the whole request; `nil` for as much as other requests have.
    func document(at url: String, within limit: Duration?) async -> IssuerDocument

    /// Asks a token endpoint as the console's page does, with a code that no issuer made, and as a browser asks before
    /// other requests. The rules of ``document(at:within:)`` apply.
    ///
    /// - Parameters:
    ///   - url: The token endpoint.
    ///   - clientID: The console's client, which has no secret.
    ///   - origin: The origin of the console; `nil` to leave it out.
    func exchange(at url: String, clientID: String, origin: String?) async -> TokenEndpointAnswer
}
