import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import Bytes
import StrictJSON

/// `/v1/tickets`: users create, see and revoke their own tickets.
struct TicketEndpoints: Sendable {
    let useCase: Tickets
    /// What admins do with single tickets.
    let rows: RowEndpoints<Ticket>
    /// Limits how often a user may revoke tickets: each revocation waits for all recordings under way, and new ones
    /// wait for it.
    let revocations: RequestRate

    /// `POST /v1/tickets`: creates a ticket. The answer shows its text, once.
    @Sendable func create(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let wanted = try TicketRequest(&body)
        try body.end()
        let created = try await useCase.create(wanted, for: caller, by: caller.change(in: request))
        let text = created.text.text
        var response = ServerResponse.json(.created) { json in
            created.stored.row.write(to: &json)
            json.member("ticket", text.reveal())
            json.member("path", "/distribute-token.json?ticket=" + text.reveal())
            if let key = created.stored.responseKey { json.member("responseKey", Base64URL.encode(key.reveal())) }
        }
        response.head.headerFields[.location] = "/v1/tickets/" + created.stored.row.identifier
        response.head.headerFields[.eTag] = EntityTag(of: created.stored).text
        return response
    }

    /// `GET /v1/tickets`: lists the caller's own tickets.
    @Sendable func list(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(["bucket", "pageSize", "pageToken"])
        var filters: [String: String] = [:]
        filters["bucket"] = try request.query("bucket")
        let page = try await useCase.list(of: caller, request.listQuery(filters, for: caller))
        return .json(.ok) { json in page.write(to: &json) { $0.write(to: &$1) } }
    }

    /// `GET /v1/tickets/{id}`: shows one of the caller's own tickets.
    @Sendable func get(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        return RowEndpoints.answer(.ok, try await useCase.get(request.rowID(of: .ticket), of: caller))
    }

    /// `DELETE /v1/tickets/{id}`: revokes a ticket. Once it is answered, every gateway refuses the ticket.
    @Sendable func delete(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let ticket = try await useCase.get(request.rowID(of: .ticket), of: caller)
        let revision = try await request.ifMatch().revision(
            of: ticket.row.identifier, in: rows.store, within: request.reach(of: caller))
        try revocations.take(from: caller.principal, at: request.arrival)
        try await useCase.revoke(ticket.row, revision: revision, by: caller.change(in: request))
        return .noContent
    }
}
