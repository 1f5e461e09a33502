import GatewayCore
import HTTPServing
import HTTPTypes

/// `/admin/v1/requests`: what became of single requests.
struct RequestEndpoints: Sendable {
    let useCase: RequestHistory

    /// `GET /admin/v1/requests/{requestID}`. An identifier without traces is not an error: the answer says since when
    /// refusals are kept, and whether sampling dropped some at the time.
    @Sendable func get(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(["from", "to"])
        let id = request.parameter(0)
        guard RequestID.isValid(id) else {
            throw GatewayError.invalidArgument(
                field: "requestID",
                reason: "An identifier has 8 to 64 of the characters A-Z, a-z, 0-9, '-', '_' and '.'.")
        }
        let traces = try await useCase.traces(
            of: id, from: try request.instant("from"), to: try request.instant("to"))
        return .json(.ok, capacity: 1024 * (traces.issuances.count + 2)) { traces.write(to: &$0) }
    }
}
