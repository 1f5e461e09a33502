import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `/admin/v1/gateways`.
struct GatewayEndpoints: Sendable {
    let directory: any GatewayDirectory

    /// `GET /admin/v1/gateways`: the gateways that run, and those that ended in the last day without signing off.
    @Sendable func list(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let page = try await directory.gateways(request.listQuery(request.listFilters([]), for: caller))
        return .json(.ok) { json in page.write(to: &json) { $0.write(to: &$1) } }
    }
}

extension KnownGateway {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("version", version)
        json.member("startedAt", startedAt)
        json.member("lastSeenAt", lastSeenAt)
        json.member("live", isLive)
        if let position {
            json.object("policyPosition") { json in
                json.member("sequence", position.sequence)
                json.member("tag", position.tag)
            }
        }
        json.member("clockAheadMilliseconds", Int64(exactly: (clockDifference * 1000).rounded()) ?? .max)
        json.member("masterKeyIDs", masterKeyIDs)
    }
}
