import GatewayCore
import HTTPServing
import HTTPTypes
import Synchronization

/// The step that identifies the caller.
///
/// What authenticates a caller is looked up in memory. A later step proves that it was current, but nothing proves a
/// refusal: another gateway may have made or changed the row of the key or issuer a moment ago. So a refusal that such
/// a change would lift stands only once policy has been read, unless a reading for another one began a moment ago.
final class Authenticate: Sendable {
    private let authenticator: any Authenticator
    /// Reads the policy changes that were committed before the call.
    private let advancePolicy: @Sendable () async throws(GatewayError) -> Void
    /// When policy was last read for a refused caller; `nil` if it was not yet.
    private let lastReading = Mutex<ContinuousClock.Instant?>(nil)

    /// Least time between two readings for refused callers, who may be anybody: there are ten a second at most.
    private static let pause = Duration.milliseconds(100)
    /// The reasons that a change of policy can lift.
    private static let liftable: Set<RefusalReason> = [
        .unknownIssuer, .algorithmNotAccepted, .unknownKeyID, .badSignature, .wrongAudience, .claimNotAccepted,
        .unknownAPIKey, .wrongAPIKey, .apiKeyExpired, .ticketOrphaned,
    ]

    init(
        _ authenticator: any Authenticator, advancePolicy: @escaping @Sendable () async throws(GatewayError) -> Void
    ) {
        self.authenticator = authenticator
        self.advancePolicy = advancePolicy
    }

    /// Returns the caller of an operation, by the token or the ticket that the operation accepts.
    ///
    /// - Parameter afterPolicy: Whether policy changes are read first for any operation, not only where nothing that it
    ///   does later proves the credential.
    /// - Throws: `unauthenticated`, `expiredToken`, `unavailable`, `slowDown`.
    func caller(of request: APIRequest, afterPolicy: Bool = false) async throws(GatewayError) -> Caller {
        let token = try Self.token(of: request, for: request.route.access)
        let isFresh = afterPolicy || request.route.readsPolicyFirst || Idempotency.mayHaveKept(request)
        if isFresh { try await advancePolicy() }
        do throws(GatewayError) {
            return try Self.admit(await authenticator.authenticate(token), to: request)
        } catch {
            guard !isFresh, isWorthReading(after: error) else { throw error }
            return try await callerByFreshPolicy(of: request, token)
        }
    }

    @inline(never)
    private func callerByFreshPolicy(
        of request: APIRequest, _ token: Secret<String>
    ) async throws(GatewayError) -> Caller {
        try await advancePolicy()
        return try Self.admit(await authenticator.authenticate(token), to: request)
    }

    /// Whether to read policy after a refusal. Then the next ones stand for a moment.
    private func isWorthReading(after refusal: GatewayError) -> Bool {
        let cause: Cause
        switch refusal {
        case .unauthenticated(_, let stated), .credentialExpired(let stated): cause = stated
        default: return false
        }
        guard let reason = cause.refusal, Self.liftable.contains(reason) else { return false }
        let now = ContinuousClock.now
        return lastReading.withLock { last in
            if let last, now - last < Self.pause { return false }
            last = now
            return true
        }
    }

    // Separate from the code that waits: the frame of an asynchronous function would hold everything used here.
    private static func admit(_ caller: Caller, to request: APIRequest) throws(GatewayError) -> Caller {
        let access = request.route.access
        guard !caller.hasTicket || access == .userOrTicket || access == .ticket else {
            throw .unauthenticated(reason: "A ticket is not accepted here.", cause: Cause(.ticketNotAccepted))
        }
        // Whoever has learnt the address alone must not get in the clear what was meant for the holder of the key.
        guard caller.ticket?.responseKey == nil || request.route.encryptsForTickets else {
            throw .unauthenticated(
                reason: "A ticket made with 'encryptsResponses' is accepted at /distribute-token.json only.",
                cause: Cause(.ticketNotAccepted))
        }
        request.notes.note(principal: caller.principal)
        return caller
    }

    /// The ticket in the query, where the route takes one and the query has one; otherwise the bearer token.
    private static func token(
        of request: APIRequest, for access: Route.Access
    ) throws(GatewayError) -> Secret<String> {
        if let credential = request.route.credential { return try credential(request) }
        guard access == .userOrTicket, let text = try request.query("ticket") else {
            return try BearerToken.token(in: request.headers)
        }
        guard !request.headers.contains(.authorization) else {
            throw .unauthenticated(reason: "Send a ticket or a bearer token, not both.", cause: Cause(.noCredential))
        }
        return try ticket(text)
    }

    /// Reads a ticket that is not in the query.
    static func ticket(_ text: String) throws(GatewayError) -> Secret<String> {
        guard let ticket = TicketText(parsing: Secret(text)) else {
            throw .unauthenticated(reason: "The ticket is not accepted.", cause: Cause(.unknownTicket, "malformed"))
        }
        return ticket.text
    }
}
