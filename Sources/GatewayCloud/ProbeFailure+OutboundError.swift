import GatewayCore
import LibCurl

extension ProbeFailure {
    /// The reason, in the words for admins, why a request had no answer.
    init(_ error: OutboundError) {
        self =
            switch error {
            case .notPermitted: .blocked
            case .noAnswer(.timedOut), .noAnswer(.cancelled): .timedOut
            case .noAnswer(.nameNotFound): .nameNotFound
            case .noAnswer(.notConnected), .noAnswer(.busy): .unreachable
            case .noAnswer(.tls), .noAnswer(.notTrusted): .tls
            case .noAnswer, .status: .unreadable
            }
    }
}
