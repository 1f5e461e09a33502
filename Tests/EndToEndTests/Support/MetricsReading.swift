/// The whole numbers in the metrics of a gateway at one moment.
struct MetricsReading: Sendable {
    private let values: [String: Int]

    /// Reads the metrics of a gateway that runs.
    init(of gateway: GatewayProcess) async throws {
        var values: [String: Int] = [:]
        for line in try await gateway.metrics().split(separator: "\n") where line.hasPrefix("sluice_") {
            guard let end = line.lastIndex(of: " "), let value = Int(line[line.index(after: end)...]) else { continue }
            values[String(line[..<end])] = value
        }
        self.values = values
    }

    /// The value of a series, by its name and labels as they are printed; `nil` where there is none.
    subscript(series: String) -> Int? { values[series] }

    /// Requests that ended with a class of statuses, on all routes or on one, whatever their methods.
    func requests(_ status: String, at route: String? = nil) -> Int {
        let end = #"status="\#(status)"}"#
        let place = route.map { #"route="\#($0)","# }
        return values.reduce(0) { sum, series in
            guard series.key.hasPrefix("sluice_http_requests_total{"), series.key.hasSuffix(end),
                place.map({ series.key.contains($0) }) ?? true
            else { return sum }
            return sum + series.value
        }
    }

    /// Requests that are being answered, without the one for the metrics.
    var requestsUnderWay: Int { (self["sluice_http_requests_in_flight"] ?? 0) - 1 }

    /// Items that came to be recorded by the ledger so far: those that wait, and those of every statement that began.
    var itemsToRecord: Int {
        (self["sluice_ledger_queue_length"] ?? 0) + (self["sluice_ledger_batch_size_sum"] ?? 0)
    }
}
