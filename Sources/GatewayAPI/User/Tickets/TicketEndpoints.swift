import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import LibCrypto
import StrictJSON

/// `/v1/tickets`: users create, see and revoke their own tickets.
struct TicketEndpoints: Sendable {
    let rows: AdminEndpoints<Ticket>
    let revocation: any TicketRevocation
    /// Longest lifetime of a ticket, in seconds.
    let maxAge: Int
    /// Limits how often a user may revoke tickets: each revocation waits for all recordings under way, and new ones
    /// wait for it.
    let revocations: RequestRate
    let randomBytes: @Sendable (Int) throws -> [UInt8]

    /// `POST /v1/tickets`: creates a ticket. The answer shows its text, once.
    @Sendable func create(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        var ticket = try Ticket(&body, as: rows.newRow(caller), maxAge: maxAge)
        let isEncrypting = try body.bool("encryptsResponses") ?? false
        try body.end()
        guard let text = TicketText(randomBytes: try randomBytes(TicketText.randomByteCount)) else {
            throw GatewayError.unavailable(retryAfter: 1, cause: "the system gives no random bytes")
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

    /// `GET /v1/tickets`: lists the caller's own tickets.
    @Sendable func list(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(["bucket", "pageSize", "pageToken"])
        var filters = ["principal": caller.principal.rawValue]
        filters["bucket"] = try request.query("bucket")
        let page = try await rows.store.list(request.listQuery(filters))
        return .json(.ok) { json in page.write(to: &json) { $0.write(to: &$1) } }
    }

    /// `GET /v1/tickets/{id}`: shows one of the caller's own tickets.
    @Sendable func get(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let ticket = try await ownTicket(in: request, caller)
        return AdminEndpoints.answer(.ok, ticket)
    }

    /// `DELETE /v1/tickets/{id}`: revokes a ticket. Once it is answered, every gateway refuses the ticket.
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

    private func ownTicket(in request: APIRequest, _ caller: Caller) async throws(GatewayError) -> Stored<Ticket> {
        guard let id = Ticket.identifier(from: request.parameter(0)) else { throw .notFound(.ticket) }
        let ticket = try await rows.store.get(id)
        // Another user's ticket is answered like a ticket that does not exist.
        guard ticket.principal == caller.principal else { throw .notFound(.ticket) }
        return ticket
    }
}
