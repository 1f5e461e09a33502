public import Figures
import Synchronization

/// The page that Prometheus reads: every series of the process, each with its name and meaning.
///
/// A series is on the page from the moment it is added, whether anything was counted or not. All of them are added
/// while the gateway is built, so no client can add one.
public final class MetricsPage: Sendable {
    /// The labels of a series, in the order in which they are written.
    public typealias Labels = [(name: String, value: String)]

    private let families = Mutex<[String: Family]>([:])

    /// Makes an empty page.
    public init() {}

    /// Adds a counter.
    ///
    /// - Parameters:
    ///   - name: Its name, with the unit and `_total` at the end.
    ///   - help: Its meaning, in one line. Series of one name have one meaning.
    ///   - labels: Its labels.
    ///   - value: Returns the present number, which never falls.
    /// - Precondition: The name is valid, and has one type and one meaning.
    public func addCounter(
        _ name: String, _ help: String, labels: Labels = [], _ value: @escaping @Sendable () -> Double
    ) {
        add(name, help, .counter, Series(labels: labels, source: .number(value)))
    }

    /// Adds a counter.
    ///
    /// - Precondition: The name is valid, and has one type and one meaning.
    public func addCounter(_ name: String, _ help: String, labels: Labels = [], _ counter: Counter) {
        addCounter(name, help, labels: labels) { Double(counter.value) }
    }

    /// Adds a gauge.
    ///
    /// - Parameters:
    ///   - name: Its name, with the unit at the end.
    ///   - help: Its meaning, in one line.
    ///   - labels: Its labels.
    ///   - value: Returns the present number.
    /// - Precondition: The name is valid, and has one type and one meaning.
    public func addGauge(
        _ name: String, _ help: String, labels: Labels = [], _ value: @escaping @Sendable () -> Double
    ) {
        add(name, help, .gauge, Series(labels: labels, source: .number(value)))
    }

    /// Adds a histogram.
    ///
    /// - Parameters:
    ///   - name: Its name, with the unit at the end.
    ///   - help: Its meaning, in one line.
    ///   - labels: Its labels.
    ///   - histogram: The histogram.
    /// - Precondition: The name is valid, and has one type and one meaning.
    public func addHistogram(_ name: String, _ help: String, labels: Labels = [], _ histogram: Histogram) {
        add(name, help, .histogram, Series(labels: labels, source: .histogram(histogram)))
    }

    /// Writes every series in the text exposition format, version 0.0.4, sorted by name.
    public func text() -> [UInt8] {
        let families = families.withLock { $0 }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            text += "# HELP \(name) \(Exposition.help(family.help))\n# TYPE \(name) \(family.kind.rawValue)\n"
            for series in family.series { series.write(name, to: &text) }
        }
        return Array(text.utf8)
    }

    private func add(_ name: String, _ help: String, _ kind: Kind, _ series: Series) {
        families.withLock { families in
            if families[name] == nil {
                precondition(Exposition.isName(name), "\(name) is no name.")
                families[name] = Family(kind: kind, help: help)
            }
            precondition(families[name]?.kind == kind && families[name]?.help == help, "\(name) has two meanings.")
            families[name]?.series.append(series)
        }
    }
}

/// All series of one name.
private struct Family {
    let kind: Kind
    let help: String
    var series: [Series] = []
}

/// Types of the exposition format.
private enum Kind: String {
    case counter
    case gauge
    case histogram
}

/// One series, and where its values come from.
private struct Series: Sendable {
    enum Source: Sendable {
        case number(@Sendable () -> Double)
        case histogram(Histogram)
    }

    let labels: MetricsPage.Labels
    let source: Source

    func write(_ name: String, to page: inout String) {
        let text = Exposition.labels(labels)
        let braces = text.isEmpty ? "" : "{\(text)}"
        switch source {
        case .number(let value):
            page += "\(name)\(braces) \(Exposition.number(value()))\n"
        case .histogram(let histogram):
            let reading = histogram.reading
            let before = text.isEmpty ? "" : text + ","
            for (bound, count) in zip(histogram.bounds + [.infinity], reading.cumulativeCounts) {
                page += "\(name)_bucket{\(before)le=\"\(Exposition.number(bound))\"} \(count)\n"
            }
            page += "\(name)_sum\(braces) \(Exposition.number(reading.sum))\n"
            page += "\(name)_count\(braces) \(reading.cumulativeCounts.last ?? 0)\n"
        }
    }
}
