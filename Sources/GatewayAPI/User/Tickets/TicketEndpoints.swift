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

    private func ownTicket(in request: APIRequest, _ caller: Caller) async throws(GatewayError) -> Stored<Ticket> {
        guard let id = Ticket.identifier(from: request.parameter(0)) else { throw .notFound(.ticket) }
        let ticket = try await rows.store.get(id)
        // Somebody else's ticket is as good as none.
        guard ticket.principal == caller.principal else { throw .notFound(.ticket) }
        return ticket
    }
}
