import HTTPTypes
import Metrics
import Synchronization

/// The gateway's figures; every dimension is bounded: route templates, known methods, statuses and codes.
final class RequestMetrics: Sendable {
    private enum Series: Hashable {
        case answered(method: String, route: String, status: Int)
        case issued(action: String, method: String)
        case refused(code: String)
        case told(outcome: String)
    }

    private let factory: any MetricsFactory
    private let inFlight: Meter
    private let counters = Mutex<[Series: Counter]>([:])
    private let timers = Mutex<[String: Timer]>([:])

    init(factory: any MetricsFactory) {
        self.factory = factory
        self.inFlight = Meter(label: "sluice_http_requests_in_flight", dimensions: [], factory: factory)
    }

    /// Counts a request that begins.
    func began() {
        inFlight.increment()
    }

    /// Counts a request that was answered.
    func ended(method: HTTPRequest.Method, route: String, status: HTTPResponse.Status, after duration: Duration) {
        inFlight.decrement()
        let method = Self.name(of: method)
        increment(.answered(method: method, route: route, status: status.code), "sluice_http_requests_total") {
            [("method", method), ("route", route), ("status", String(status.code))]
        }
        let timer = timers.withLock { timers in
            if let timer = timers[route] { return timer }
            let timer = Timer(
                label: "sluice_http_request_duration_seconds", dimensions: [("route", route)], factory: factory
            )
            timers[route] = timer
            return timer
        }
        timer.recordNanoseconds(duration.nanoseconds)
    }

    /// Counts a credential that was issued.
    func issued(action: String, method: String) {
        increment(.issued(action: action, method: method), "sluice_issued_total") {
            [("action", action), ("method", method)]
        }
    }

    /// Counts a refusal by its stable code.
    func refused(code: String) {
        increment(.refused(code: code), "sluice_refused_total") { [("code", code)] }
    }

    /// Counts what stores told.
    func took(noted: Int, ignored: Int) {
        for (outcome, count) in [("noted", noted), ("ignored", ignored)] {
            increment(.told(outcome: outcome), "sluice_store_events_total", by: count) { [("outcome", outcome)] }
        }
    }

    /// The method as dimension and in logs; clients may send any token.
    static func name(of method: HTTPRequest.Method) -> String {
        switch method {
        case .get, .head, .post, .put, .delete, .options, .patch: method.rawValue
        default: "other"
        }
    }

    private func increment(
        _ series: Series, _ label: String, by count: Int = 1, _ dimensions: () -> [(String, String)]
    ) {
        let counter = counters.withLock { counters in
            if let counter = counters[series] { return counter }
            let counter = Counter(label: label, dimensions: dimensions(), factory: factory)
            counters[series] = counter
            return counter
        }
        counter.increment(by: count)
    }
}

extension Duration {
    /// Whole nanoseconds, of at most 292 years.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return min(max(seconds, -9_000_000_000), 9_000_000_000) * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
