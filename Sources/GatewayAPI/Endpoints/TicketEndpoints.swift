import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import LibCrypto
import StrictJSON

/// `/v1/tickets`: users make, see and revoke tickets of their own.
struct TicketEndpoints: Sendable {
    let rows: AdminEndpoints<Ticket>
    let revocation: any TicketRevocation
    /// Longest life of a ticket, in seconds.
    let maxAge: Int
    /// How often a user may revoke tickets: each revocation waits for all recordings under way, and they for it.
    let revocations: RequestRate
    let randomBytes: @Sendable (Int) throws -> [UInt8]

    /// `POST /v1/tickets`: the answer shows the ticket, once.
    @Sendable func create(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        var ticket = try Ticket(&body, as: rows.newRow(caller), maxAge: maxAge)
        let isEncrypting = try body.bool("encryptsResponses") ?? false
        try body.end()
        guard let text = TicketText(randomBytes: try randomBytes(TicketText.randomByteCount)) else {
            throw GatewayError.unavailable(retryAfter: 1)
        }
        ticket.name = text.name
        ticket.hash = text.hash
        ticket.responseKey = isEncrypting ? Secret(try randomBytes(32)) : nil
        let created = try await rows.store.create(ticket.validated(), by: caller.change(in: request))
        var response = ServerResponse.json(.created) { json in
            created.row.write(to: &json)
            json.member("ticket", text.text.reveal())
            json.member("path", "/distribute-token.json?ticket=" + text.text.reveal())
            if let key = created.responseKey { json.member("responseKey", Base64URL.encode(key.reveal())) }
        }
        response.head.headerFields[.location] = "/v1/tickets/" + created.row.identifier
        response.head.headerFields[.eTag] = EntityTag(of: created).text
        return response
    }

    /// `GET /v1/tickets`: the caller's own.
    @Sendable func list(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(["bucket", "pageSize", "pageToken"])
        var filters = ["principal": caller.principal.rawValue]
        filters["bucket"] = try request.query("bucket")
        let page = try await rows.store.list(request.listQuery(filters))
        return .json(.ok) { json in page.write(to: &json) { $0.write(to: &$1) } }
    }

    /// `GET /v1/tickets/{id}`: one of the caller's own.
    @Sendable func get(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let ticket = try await ownTicket(in: request, caller)
        return AdminEndpoints.answer(.ok, ticket)
    }

    /// `DELETE /v1/tickets/{id}`: in force on every gateway once it is answered.
    @Sendable func delete(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let ticket = try await ownTicket(in: request, caller)
        let id = ticket.row.identifier
        let revision = try await request.ifMatch().revision(of: id, in: rows.store)
        try revocations.take(from: caller.principal, at: request.start)
        var change = caller.change(in: request)
        change.isAudited = false
        try await rows.store.delete(id, revision: revision, by: change)
        return .noContent
    }

    /// `POST /admin/v1/tickets:revoke`: all of one user; in force on every gateway once it is answered.
    @Sendable func revokeAll(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let principal = try body.required("principal", body.principal("principal"))
        try body.end()
        guard principal.isUser else { throw body.invalid("principal", "Tickets speak for users.") }
        let count = try await revocation.revokeTickets(of: principal, by: caller.change(in: request))
        return .json(.ok) { $0.member("revoked", count) }
    }

    private func ownTicket(in request: APIRequest, _ caller: Caller) async throws(GatewayError) -> Stored<Ticket> {
        guard let id = Ticket.identifier(from: request.parameter(0)) else { throw .notFound(.ticket) }
        let ticket = try await rows.store.get(id)
        // Somebody else's ticket is as good as none.
        guard ticket.principal == caller.principal else { throw .notFound(.ticket) }
        return ticket
    }
}

extension Ticket: AdminResource {
    static var kind: ResourceKind { .ticket }
    static var filters: [ListFilter] { [.text("principal"), .text("bucket"), .instant("activeAt")] }
    static var collectionPath: String { "/admin/v1/tickets" }

    init(_ body: inout JSONObject, as new: NewRow) throws(GatewayError) {
        try self.init(&body, as: new, maxAge: Self.maxLife)
    }

    /// Takes the members of a ticket that lives no longer than so many seconds.
    init(_ body: inout JSONObject, as new: NewRow, maxAge: Int) throws(GatewayError) {
        let prefix = try body.required(
            "prefix", body.parsed("prefix") { (text) throws(GatewayError) in try KeyPrefix(literal: text) })
        let life = try body.integer("expiresIn") ?? Int64(min(Self.defaultLife, maxAge))
        guard 1...Int64(maxAge) ~= life else {
            throw body.invalid("expiresIn", "A ticket lives 1 to \(maxAge) seconds.")
        }
        self.init(
            id: new.id, name: "", hash: [], principal: new.actor, groups: new.caller.groups, claims: new.caller.claims,
            issuedOn: new.caller.scope,
            bucket: try body.required(
                "bucket", body.parsed("bucket") { (text) throws(GatewayError) in try BucketName(text) }),
            prefix: ExactText(prefix.text),
            actions: try body.actions("actions") ?? Set(Action.allCases),
            maxUses: try body.integer("maxUses") ?? Self.defaultUses,
            expiresAt: new.now.addingTimeInterval(TimeInterval(life)),
            createdAt: new.now
        )
        guard 1...Self.maxUses ~= maxUses else {
            throw body.invalid("maxUses", "A ticket can be used 1 to 100,000 times.")
        }
    }

    func validated() throws(GatewayError) -> Ticket {
        guard !actions.isEmpty else {
            throw .invalidArgument(field: "actions", reason: "A ticket is for at least one action.")
        }
        return self
    }

    var identifier: String { id.uuidString.lowercased() }

    func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("name", name)
        json.member("principal", principal.rawValue)
        json.member("bucket", bucket.rawValue)
        json.member("prefix", prefix.rawValue)
        json.member("actions", actions.map(\.rawValue).sorted())
        json.member("maxUses", maxUses)
        json.member("encryptsResponses", responseKey != nil)
        json.member("expiresAt", expiresAt)
        json.member("createdAt", createdAt)
    }
}
