import GatewayCore
import HTTPServing
import HTTPTypes

/// One operation of the API: its method and path, who may call it, how much of a body it reads, and its endpoint.
final class Route: Sendable {
    /// Default body limit of `POST`, `PUT` and `PATCH`, in bytes. Other methods read no body.
    static let defaultMaxBodyBytes = 65_536
    /// Longest body that any route collects, in bytes. Longer bodies are streamed.
    static let longestBodyBytes = 16 << 20
    /// Deadline for the answer of an operation whose statement PostgreSQL gives up only after 30 seconds.
    static let longAnswerDeadline = Duration.seconds(40)

    let method: HTTPRequest.Method
    /// The path. `{name}` matches one segment, `{name}:verb` one segment that ends in `:verb`.
    let template: String
    /// Whether the last `{name}` matches all remaining segments, at least one.
    let takesRest: Bool
    let access: Access
    let maxBodyBytes: Int
    let endpoint: Endpoint
    private let options: Options

    /// Options that only a few routes set.
    private struct Options {
        var refusalForm: RefusalForm?
        var clientProtocol: ClientProtocol?
        var credential: CredentialReader?
        var repetition = Repetition.kept
        var streamPlan: BodyPlan?
        var answerDeadline: Duration?
        var isDelegated = false
        var encryptsForTickets = false
        var readsPolicyFirst = false
        var takesPlace = true
    }

    /// Makes the answer for a refusal; `nil` for the problem documents of RFC 9457.
    var refusalForm: RefusalForm? { options.refusalForm }
    /// The protocol of existing clients that the route belongs to, which the bucket must open; `nil` for the gateway's
    /// own operations.
    var clientProtocol: ClientProtocol? { options.clientProtocol }
    /// Where the request has its credential; `nil` for the bearer token, or the ticket in the query.
    var credential: CredentialReader? { options.credential }
    /// How the answer is repeated when the same request arrives again with the same idempotency key.
    var repetition: Repetition { options.repetition }
    /// Whether delegated admins may call the route, whose use case narrows it to their scopes.
    var isDelegated: Bool { options.isDelegated }
    /// Whether the answer is encrypted for the holder of a ticket that was made so.
    var encryptsForTickets: Bool { options.encryptsForTickets }
    /// Whether policy changes are read before the caller is authenticated, because nothing that the operation does
    /// later proves the credential: it neither records nor is decided by committed policy. A revoked credential must
    /// not act before this gateway has read the revocation.
    var readsPolicyFirst: Bool { access.isOfAdmins || options.readsPolicyFirst }
    /// Whether a request takes a place among those in flight, and is refused if there is none.
    var takesPlace: Bool { options.takesPlace }
    /// How the server reads the body.
    var bodyPlan: BodyPlan {
        options.streamPlan ?? .collect(maxBytes: maxBodyBytes, answerDeadline: options.answerDeadline)
    }
    /// Whether the route takes a body.
    var takesBody: Bool {
        switch bodyPlan {
        case .collect(let maxBytes, _): maxBytes > 0
        case .stream(let maxBytes, _): maxBytes > 0
        }
    }

    /// Makes the answer for a refusal, and for the identifier of its request.
    typealias RefusalForm = @Sendable (Problem, String) -> ServerResponse

    /// Reads the token, the API key or the ticket of a request.
    typealias CredentialReader = @Sendable (APIRequest) throws(GatewayError) -> Secret<String>

    /// Who may call a route.
    enum Access: String, Sendable {
        /// Anyone, without a credential.
        case anyone = "public"
        /// A store that knows the secret of a bucket.
        case store
        /// Any authenticated caller.
        case user
        /// Any authenticated caller, or a request with a ticket in its query: `?ticket=`.
        case userOrTicket = "user-or-ticket"
        /// A request with a ticket in its path.
        case ticket
        /// A request with the token of an issuer in its form.
        case webIdentity = "web-identity"
        /// A caller with the role `auditor` or `admin`.
        case auditor
        /// A caller with the role `admin`.
        case admin

        /// Whether the caller needs a role.
        var isOfAdmins: Bool {
            switch self {
            case .admin, .auditor: true
            case .anyone, .store, .user, .userOrTicket, .ticket, .webIdentity: false
            }
        }
    }

    /// How an answer is repeated for the same idempotency key.
    enum Repetition: Sendable {
        /// The store of idempotency keys keeps the answer, sealed.
        case kept
        /// Nothing keeps the answer, as it holds a credential. The endpoint runs again; it proves and signs the same
        /// issuance.
        case issuedAgain
    }

    /// The function that answers.
    enum Endpoint: Sendable {
        case open(@Sendable (APIRequest) async throws -> ServerResponse)
        case authenticated(@Sendable (APIRequest, Caller) async throws -> ServerResponse)
    }

    /// Makes a route for authenticated callers.
    init(
        _ method: HTTPRequest.Method, _ template: String, _ access: Access, maxBodyBytes: Int? = nil,
        takesRest: Bool = false,
        _ endpoint: @escaping @Sendable (APIRequest, Caller) async throws -> ServerResponse
    ) {
        self.method = method
        self.template = template
        self.takesRest = takesRest
        self.access = access
        self.maxBodyBytes = maxBodyBytes ?? ([.post, .put, .patch].contains(method) ? Self.defaultMaxBodyBytes : 0)
        self.endpoint = .authenticated(endpoint)
        options = Options()
    }

    /// Makes a route to which stores post. The endpoint checks their secret.
    init(
        forStores template: String, maxBodyBytes: Int,
        _ endpoint: @escaping @Sendable (APIRequest) async throws -> ServerResponse
    ) {
        method = .post
        self.template = template
        takesRest = false
        access = .store
        self.maxBodyBytes = maxBodyBytes
        self.endpoint = .open(endpoint)
        options = Options()
    }

    /// The same route with its own form of refusals.
    func refusing(by form: @escaping RefusalForm) -> Route {
        with { $0.refusalForm = form }
    }

    /// The same route, where nothing later proves the credential.
    func readingPolicyFirst() -> Route {
        with { $0.readsPolicyFirst = true }
    }

    /// The same route as one of a protocol of existing clients, which know no idempotency keys.
    func speaking(_ clientProtocol: ClientProtocol, refusing form: @escaping RefusalForm) -> Route {
        with {
            $0.clientProtocol = clientProtocol
            $0.refusalForm = form
        }
    }

    /// The same route for clients that send their credential elsewhere than in `Authorization: Bearer`. To read it from
    /// the body, the route must limit that to what the server collects before the caller is known.
    func signingIn(by credential: @escaping CredentialReader) -> Route {
        with { $0.credential = credential }
    }

    /// The same route with a body that is read as it arrives, and with its own deadline for the answer.
    func streaming(maxBodyBytes: Int64, answerDeadline: Duration) -> Route {
        with { $0.streamPlan = .stream(maxBytes: maxBodyBytes, answerDeadline: answerDeadline) }
    }

    /// The same route, whose answer may take longer than the server lets others take.
    func takingLong() -> Route {
        with { $0.answerDeadline = Self.longAnswerDeadline }
    }

    /// The same route, marked as one whose answers hold credentials.
    func issuing() -> Route {
        with { $0.repetition = .issuedAgain }
    }

    /// The same route, answered however many requests are in flight. It must be cheap, and wait for nothing.
    func takingNoPlace() -> Route {
        with { $0.takesPlace = false }
    }

    /// The same route, open to delegated admins. Its endpoint must pass on what the caller may see and change
    /// (``APIRequest/authority(of:)``). All other routes for admins and auditors refuse them.
    func delegated() -> Route {
        with { $0.isDelegated = true }
    }

    /// The same route, whose endpoint encrypts its answer with a ticket's ``Ticket/responseKey``. All other routes
    /// refuse such tickets.
    func encryptingForTickets() -> Route {
        with { $0.encryptsForTickets = true }
    }

    /// Makes a route for anyone; it reads no body.
    init(
        public method: HTTPRequest.Method, _ template: String, takesRest: Bool = false,
        _ endpoint: @escaping @Sendable (APIRequest) async throws -> ServerResponse
    ) {
        self.method = method
        self.template = template
        self.takesRest = takesRest
        self.access = .anyone
        self.maxBodyBytes = 0
        self.endpoint = .open(endpoint)
        options = Options()
    }

    private init(_ route: Route, _ options: Options) {
        method = route.method
        template = route.template
        takesRest = route.takesRest
        access = route.access
        maxBodyBytes = route.maxBodyBytes
        endpoint = route.endpoint
        self.options = options
    }

    private func with(_ change: (inout Options) -> Void) -> Route {
        var options = options
        change(&options)
        return Route(self, options)
    }
}
