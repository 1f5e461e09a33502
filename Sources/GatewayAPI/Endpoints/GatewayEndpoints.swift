import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes

/// `/admin/v1/gateways`.
struct GatewayEndpoints: Sendable {
    let directory: any GatewayDirectory

    /// `GET /admin/v1/gateways`: those that run, and those that ended without a goodbye in the last day.
    @Sendable func list(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let page = try await directory.gateways(request.listQuery(request.listFilters([])))
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
            json.name("policyPosition")
            json.object { json in
                json.member("sequence", position.sequence)
                json.member("tag", position.tag)
            }
        }
        json.name("clockDifference")
        json.value(.number(Self.seconds(clockDifference)))
        json.member("masterKeyIDs", masterKeyIDs)
    }

    /// Seconds with three decimals.
    private static func seconds(_ value: Double) -> String {
        guard let milliseconds = Int64(exactly: (value * 1000).rounded()) else { return "0" }
        let (seconds, rest) = milliseconds.magnitude.quotientAndRemainder(dividingBy: 1000)
        let decimals = String(1000 + rest).dropFirst()
        return (milliseconds < 0 ? "-" : "") + "\(seconds).\(decimals)"
    }
}
