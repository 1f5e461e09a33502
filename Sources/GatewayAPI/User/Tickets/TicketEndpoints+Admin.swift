import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `/admin/v1/tickets`, except the operations that every kind of row has.
extension TicketEndpoints {
    /// `POST /admin/v1/tickets:revoke`: revokes all tickets of one user. Once it is answered, every gateway refuses
    /// them.
    @Sendable func revokeAll(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let principal = try body.required("principal", body.principal("principal"))
        try body.end()
        request.notes.note(row: principal.rawValue)
        let count = try await useCase.revokeAll(of: principal, by: caller.change(in: request))
        return .json(.ok) { $0.member("revoked", count) }
    }
}
