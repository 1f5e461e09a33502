public import FoundationEssentials

/// What a user asks of a new ticket.
public struct TicketRequest: Sendable {
    /// The bucket that the ticket permits.
    public var bucket: BucketName
    /// The keys that it permits: a literal prefix.
    public var prefix: ExactText
    /// The actions that it permits; `nil` for ``Action/transfers``.
    public var actions: Set<Action>?
    /// Its lifetime in seconds; `nil` for the default.
    public var expiresIn: Int64?
    /// The number of its uses; `nil` for the default.
    public var maxUses: Int64?
    /// Whether a key that only the user knows encrypts the credentials in answers.
    public var encryptsResponses: Bool

    /// Creates a request.
    public init(
        bucket: BucketName, prefix: ExactText, actions: Set<Action>? = nil, expiresIn: Int64? = nil,
        maxUses: Int64? = nil, encryptsResponses: Bool = false
    ) {
        self.bucket = bucket
        self.prefix = prefix
        self.actions = actions
        self.expiresIn = expiresIn
        self.maxUses = maxUses
        self.encryptsResponses = encryptsResponses
    }
}

/// Users create, see and revoke their own tickets; admins revoke all tickets of a user.
public struct Tickets: Sendable {
    private let rows: any AdminStore<Ticket>
    private let revocation: any TicketRevocation
    private let maxLife: Int
    private let now: @Sendable () -> Date
    private let random: RandomSource

    /// Creates the use case from its parts.
    ///
    /// - Parameters:
    ///   - rows: The rows.
    ///   - revocation: Revokes all tickets of a user at once.
    ///   - maxLife: The longest lifetime, in seconds.
    ///   - now: The gateway's clock.
    ///   - randomBytes: Returns the given number of unpredictable bytes.
    public init(
        rows: any AdminStore<Ticket>, revocation: any TicketRevocation, maxLife: Int,
        now: @escaping @Sendable () -> Date, randomBytes: @escaping @Sendable (Int) throws -> [UInt8]
    ) {
        self.rows = rows
        self.revocation = revocation
        self.maxLife = maxLife
        self.now = now
        random = RandomSource(randomBytes)
    }

    /// Creates a ticket that acts for the caller. This is the only time its text and its response key are returned.
    ///
    /// A ticket has the groups and claims of the caller's token for its whole life. The store proves that the
    /// credential still stands as it makes the ticket: none is asked for after a change and made by what was true
    /// before it.
    ///
    /// A token from before a revocation of all the user's tickets can be in the hands of another person. It makes no
    /// ticket that outlives it.
    ///
    /// - Throws: `invalidArgument`, `conflict` if the caller came by the bootstrap key, the user has too many live
    ///   tickets, or the ticket would outlive such a token; `staleCaller`, `slowDown`, `unavailable`.
    public func create(
        _ request: TicketRequest, for caller: Caller, by change: ChangeContext
    ) async throws(GatewayError) -> (stored: Stored<Ticket>, text: TicketText) {
        let life = request.expiresIn ?? Int64(min(Ticket.defaultLife, maxLife))
        try require(
            1...Int64(maxLife) ~= life, "expiresIn", "The life of a ticket must be 1 to \(maxLife) seconds.")
        let maxUses = request.maxUses ?? Ticket.defaultUses
        try require(1...Ticket.maxUses ~= maxUses, "maxUses", "The number of uses must be 1 to 100,000.")
        guard caller.scope != nil else {
            // Nothing that an admin removes would end it.
            throw .conflict(reason: "The bootstrap key makes no tickets. Make an API key for the user.")
        }
        let actions = request.actions ?? Action.transfers
        try require(!actions.isEmpty, "actions", "A ticket requires at least one action.")
        let text = try random.secret(TicketText.randomByteCount) { TicketText(randomBytes: $0) }
        let created = now()
        let expiresAt = created.addingTimeInterval(TimeInterval(life))
        try await checkRevocation(of: caller, end: expiresAt)
        let ticket = Ticket(
            id: UUID.version7(at: created, randomBytes: try random.bytes(10)), name: text.name, hash: text.digest,
            principal: caller.principal, groups: caller.groups, claims: caller.claims, issuedOn: caller.scope,
            bucket: request.bucket, prefix: request.prefix, actions: actions, maxUses: maxUses,
            expiresAt: expiresAt,
            responseKey: request.encryptsResponses ? Secret(try random.bytes(32)) : nil, createdAt: created)
        let stored = try await rows.create(Validated(ticket), by: change)
        do throws(GatewayError) {
            // A revocation that came meanwhile may have missed the ticket.
            try await checkRevocation(of: caller, end: expiresAt)
        } catch {
            // Nobody has its text, so it does no harm if it stays.
            var withdrawal = change
            withdrawal.proof = nil
            try? await revoke(ticket, revision: nil, by: withdrawal)
            throw error
        }
        return (stored, text)
    }

    /// Seconds by which the clocks of an issuer and of the database may differ.
    private static let tolerance: TimeInterval = 60

    private func checkRevocation(of caller: Caller, end: Date) async throws(GatewayError) {
        guard let scope = caller.scope, case .issuer = PolicyKey(scope), let tokenEnd = caller.expiresAt,
            end > tokenEnd, let revokedAt = try await revocation.lastRevocation(of: caller.principal),
            (caller.issuedAt ?? .distantPast) <= revokedAt.addingTimeInterval(Self.tolerance)
        else { return }
        throw .conflict(reason: refusal(ofTokenFrom: caller.issuedAt, revokedAt: revokedAt))
    }

    /// Says why a token counts as one from before a revocation, and which token does not.
    private func refusal(ofTokenFrom issuedAt: Date?, revokedAt: Date) -> String {
        let other = "ask for a ticket that ends no later than the token."
        guard let issuedAt else {
            return "The user's tickets were revoked, and the token has no 'iat' that tells whether it is older. "
                + "Use a token with 'iat', or \(other)"
        }
        let reason =
            issuedAt <= revokedAt
            ? "The user's tickets were revoked after the token was issued."
            : "The token was issued within a minute of a revocation of the user's tickets, and counts as older."
        let wait = revokedAt.addingTimeInterval(Self.tolerance).timeIntervalSince(now())
        // Issuers round 'iat' down to a second.
        let time = wait <= -1 ? "" : " in \(Int(wait.rounded(.up)) + 1) s"
        return "\(reason) Sign in again\(time), or \(other)"
    }

    /// Reads a page of the caller's own tickets.
    ///
    /// - Parameter query: The page and its filters; this method sets the filter by principal.
    /// - Throws: `invalidArgument`, `unavailable`.
    public func list(of caller: Caller, _ query: ListQuery) async throws(GatewayError) -> Page<Ticket> {
        var query = query
        query.filters["principal"] = caller.principal.rawValue
        return try await rows.list(query)
    }

    /// Reads one of the caller's own tickets. Another user's ticket does not exist for the caller.
    ///
    /// - Throws: `notFound`, `unavailable`.
    public func get(_ id: UUID, of caller: Caller) async throws(GatewayError) -> Stored<Ticket> {
        let ticket = try await rows.get(id.lowercaseText)
        guard ticket.principal == caller.principal else { throw .notFound(.ticket) }
        return ticket
    }

    /// Revokes a ticket that its owner has read. Once the call returns, every gateway refuses the ticket. The audit
    /// records what admins do, so it has no entry.
    ///
    /// - Parameter revision: The revision that the ticket must still have; `nil` accepts any.
    /// - Throws: `notFound`, `preconditionFailed`, `unavailable`.
    public func revoke(
        _ ticket: Ticket, revision: UUID?, by change: ChangeContext
    ) async throws(GatewayError) {
        var change = change
        change.isAudited = false
        try await rows.delete(ticket.id.lowercaseText, revision: revision, by: change)
    }

    /// Revokes all tickets of a user.
    ///
    /// - Returns: The number of tickets that a gateway could still have accepted.
    /// - Throws: `invalidArgument` for `principal` unless it is a user, `slowDown`, `unavailable`.
    public func revokeAll(of principal: Principal, by change: ChangeContext) async throws(GatewayError) -> Int {
        try require(principal.isUser, "principal", "A ticket can act only for a user.")
        return try await revocation.revokeTickets(of: principal, by: change)
    }
}
