public import CoreMetrics
import Synchronization

/// A swift-metrics factory that keeps all series in memory and writes them for Prometheus.
///
/// Counters stay counters; meters and recorders that do not aggregate become gauges; timers and recorders that
/// aggregate become histograms. Timers are in seconds. Invalid characters in names and labels are replaced, which can
/// merge two series into one.
public final class PrometheusFactory: MetricsFactory {
    /// Upper bounds of histogram buckets, ascending.
    public static let defaultBuckets: [Double] = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]

    private let buckets: [Double]
    private let maxSeriesPerMetric: Int
    private let families = Mutex<[String: Family]>([:])

    /// Makes an empty factory.
    ///
    /// - Parameters:
    ///   - buckets: Upper bounds of histogram buckets, ascending, without infinity.
    ///   - maxSeriesPerMetric: Maximum number of label combinations per metric. Further combinations share a series
    ///     whose labels are all `other`, so that no client can fill the memory.
    public init(buckets: [Double] = defaultBuckets, maxSeriesPerMetric: Int = 1000) {
        self.buckets = buckets
        self.maxSeriesPerMetric = maxSeriesPerMetric
    }

    /// A counter.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, dimensions, .counter)
    }

    /// A counter of fractions.
    public func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        series(label, dimensions, .counter)
    }

    /// A gauge.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, dimensions, .gauge)
    }

    /// A histogram, or without aggregation a gauge of the last value.
    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        series(label, dimensions, aggregate ? .histogram : .gauge)
    }

    /// A histogram in seconds.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(label, dimensions, .histogram)
    }

    /// Series are kept, because a counter that disappears and reappears looks like a restart.
    public func destroyCounter(_ handler: any CounterHandler) {}

    /// Series are kept.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}

    /// Series are kept.
    public func destroyMeter(_ handler: any MeterHandler) {}

    /// Series are kept.
    public func destroyRecorder(_ handler: any RecorderHandler) {}

    /// Series are kept.
    public func destroyTimer(_ handler: any TimerHandler) {}

    /// Writes every series in the text exposition format, version 0.0.4, sorted.
    public func text() -> [UInt8] {
        let families = families.withLock { $0 }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            text += "# TYPE \(name) \(family.kind.rawValue)\n"
            for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
                series.write(name: name, labels: labels, to: &text)
            }
        }
        return Array(text.utf8)
    }

    private func series(_ label: String, _ dimensions: [(String, String)], _ kind: Kind) -> Series {
        let name = Exposition.metricName(label)
        let labels = Exposition.labels(dimensions)
        return families.withLock { families in
            let family = families[name, default: Family(kind: kind, series: [:])]
            // A name has one type. A metric that asks for another type is counted but never written.
            guard family.kind == kind else { return Series(kind, buckets: buckets) }
            if let series = family.series[labels] { return series }
            let isFull = family.series.count >= maxSeriesPerMetric
            let key = isFull ? Exposition.labels(dimensions.map { ($0.0, "other") }) : labels
            if let series = family.series[key] { return series }
            let series = Series(kind, buckets: buckets)
            families[name, default: family].series[key] = series
            return series
        }
    }
}

/// All series of one name.
private struct Family {
    let kind: Kind
    var series: [String: Series]
}

/// Types of the exposition format.
enum Kind: String {
    case counter
    case gauge
    case histogram
}
