import GatewayAPI
import LibPQ

/// Counts the requests that an outage of the database has refused, besides what is logged of them.
struct OutageRequestLog: RequestLog {
    private let base: any RequestLog
    private let outage: Outage

    init(_ base: any RequestLog, outage: Outage) {
        self.base = base
        self.outage = outage
    }

    func answered(_ request: AnsweredRequest) {
        // Asking whether the gateway is ready is no request for anything.
        if request.status == 503, request.route != "/readyz" { outage.countRefusal() }
        base.answered(request)
    }
}
