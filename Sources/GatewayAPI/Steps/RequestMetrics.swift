import Figures
import GatewayCore
import HTTPTypes
public import PrometheusMetrics
import Synchronization

/// The gateway's metrics of requests, for all its listeners. Every label has few values: route templates, the methods
/// of routes, classes of statuses, and codes. What a client sends never becomes one.
public final class RequestMetrics: Sendable {
    private let page: MetricsPage
    private let inFlight = Level()
    private let refusals: [String: Counter]
    private let otherRefusals = Counter()
    private let dropped = Counter()
    private let events = Counters<EventOutcome>()
    private let figures = Mutex<[String: RouteFigures]>([:])

    private enum EventOutcome: String, CaseIterable {
        case noted
        case ignored
    }

    /// Adds the series to a page. Those of routes follow once listeners are made.
    public init(on page: MetricsPage) {
        self.page = page
        let codes = Set(ProblemKind.allCases.map(\.code) + ResourceKind.allCases.map { GatewayError.notFound($0).code })
        refusals = Dictionary(uniqueKeysWithValues: codes.map { ($0, Counter()) })
        let (inFlight, dropped) = (inFlight, dropped)
        page.addGauge("sluice_http_requests_in_flight", "Requests being answered, with that of this page.") {
            Double(inFlight.value)
        }
        let help = "Refused requests, and refused items of batches, by the code of the problem."
        for (code, counter) in refusals.sorted(by: { $0.key < $1.key }) {
            page.addCounter("sluice_refused_total", help, labels: [("code", code)], counter)
        }
        page.addCounter("sluice_refused_total", help, labels: [("code", "other")], otherRefusals)
        page.addCounter(
            "sluice_refusals_dropped_total", "Refusals that have a line in the log but no row in the database.",
            dropped)
        for (outcome, counter) in events.all {
            page.addCounter(
                "sluice_store_events_total", "Events that stores sent.", labels: [("outcome", outcome.rawValue)],
                counter)
        }
    }

    /// The metrics of the requests for a path. Listeners that share a path share its metrics.
    func figures(of path: Router.Path) -> RouteFigures {
        figures(of: path.template, methods: path.routes.map(\.method))
    }

    /// The metrics of the requests that lead to no operation: to no path, or by a method that the path lacks.
    var figuresOfNone: RouteFigures { figures(of: RouteMatch.noTemplate, methods: []) }

    private func figures(of template: String, methods: [HTTPRequest.Method]) -> RouteFigures {
        figures.withLock { figures in
            if let known = figures[template] { return known }
            let made = RouteFigures(template: template, methods: methods, on: page)
            figures[template] = made
            return made
        }
    }

    /// Counts a request that begins.
    func began() {
        inFlight.rise()
    }

    /// Counts a request that was answered.
    func ended() {
        inFlight.fall()
    }

    /// Counts a refusal by its stable code.
    func refused(code: String) {
        (refusals[code] ?? otherRefusals).add()
    }

    /// Counts a refusal that is not kept, because there are too many.
    func droppedRefusal() {
        dropped.add()
    }

    /// Counts the events that stores sent.
    func took(noted: Int, ignored: Int) {
        events[.noted].add(noted)
        events[.ignored].add(ignored)
    }
}

/// The metrics of the requests for one path.
final class RouteFigures: Sendable {
    /// Classes of statuses, in the order of the counters, and last that of requests whose clients had gone.
    private static let classes = ["2xx", "3xx", "4xx", "5xx", "gone"]

    private let durations = Histogram.ofDurations()
    /// The methods of the path's operations, or none for requests that lead to no operation.
    private let methods: [HTTPRequest.Method]
    /// For each method, a counter for each class of statuses.
    private let answered: [Counter]

    fileprivate init(template: String, methods: [HTTPRequest.Method], on page: MetricsPage) {
        self.methods = methods
        let names = methods.isEmpty ? ["other"] : methods.map(\.rawValue)
        answered = (0..<(names.count * Self.classes.count)).map { _ in Counter() }
        for (index, counter) in answered.enumerated() {
            page.addCounter(
                "sluice_http_requests_total",
                "Requests by the template of the path; none and other lead to no operation, gone has no answer.",
                labels: [
                    ("method", names[index / Self.classes.count]), ("route", template),
                    ("status", Self.classes[index % Self.classes.count]),
                ], counter)
        }
        page.addHistogram(
            "sluice_http_request_duration_seconds", "Time from the head of a request to its answer.",
            labels: [("route", template)], durations)
    }

    /// Counts a request that was answered.
    func answered(_ method: HTTPRequest.Method, status: Int, after nanoseconds: Int64) {
        count(method, status: status)
        durations.observe(nanoseconds)
    }

    /// Counts a request whose client had gone before it was answered.
    func abandoned(_ method: HTTPRequest.Method, after nanoseconds: Int64) {
        count(method, column: Self.classes.count - 1)
        durations.observe(nanoseconds)
    }

    /// Counts an answer, but not the time that it took.
    func count(_ method: HTTPRequest.Method, status: Int) {
        count(method, column: min(max(status / 100 - 2, 0), Self.classes.count - 2))
    }

    private func count(_ method: HTTPRequest.Method, column: Int) {
        let wanted = method == .head ? .get : method
        let row = methods.firstIndex(of: wanted) ?? 0
        answered[row * Self.classes.count + column].add()
    }
}
