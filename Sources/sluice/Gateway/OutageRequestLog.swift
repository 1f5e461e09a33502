import GatewayAPI
import LibPQ

/// Counts the requests refused during an outage of the database, and logs all requests as usual.
struct OutageRequestLog: RequestLog {
    private let base: any RequestLog
    private let outage: Outage

    init(_ base: any RequestLog, outage: Outage) {
        self.base = base
        self.outage = outage
    }

    func answered(_ request: AnsweredRequest) {
        // A readiness check requests nothing that an outage could refuse.
        if request.status == 503, request.route != "/readyz" { outage.countRefusal() }
        base.answered(request)
    }
}
