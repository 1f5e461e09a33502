import CoreMetrics
import Synchronization

/// One series: a number, or the counts of a histogram.
final class Series: Sendable {
    private struct Histogram {
        var sum = 0.0
        /// Observations per bucket; the last bucket is beyond all bounds.
        var counts: [UInt64]
    }

    private let kind: Kind
    private let bounds: [Double]
    /// The number, as bits.
    private let number = Atomic<UInt64>(0)
    private let histogram: Mutex<Histogram>

    init(_ kind: Kind, buckets: [Double]) {
        self.kind = kind
        bounds = kind == .histogram ? buckets : []
        histogram = Mutex(Histogram(counts: kind == .histogram ? Array(repeating: 0, count: buckets.count + 1) : []))
    }

    /// Adds to a counter or gauge.
    private func add(_ amount: Double) {
        var known = number.load(ordering: .relaxed)
        while true {
            let sum = (Double(bitPattern: known) + amount).bitPattern
            let (isDone, current) = number.compareExchange(expected: known, desired: sum, ordering: .relaxed)
            if isDone { return }
            known = current
        }
    }

    /// Sets a gauge, or counts a value in a histogram.
    private func observe(_ value: Double) {
        guard !value.isNaN else { return }
        guard kind == .histogram else { return number.store(value.bitPattern, ordering: .relaxed) }
        var bucket = 0
        while bucket < bounds.count, value > bounds[bucket] { bucket += 1 }
        histogram.withLock { histogram in
            histogram.sum += value
            histogram.counts[bucket] += 1
        }
    }

    /// Writes the lines of this series; `labels` is the text between the braces.
    func write(name: String, labels: String, to text: inout String) {
        let braces = labels.isEmpty ? "" : "{\(labels)}"
        guard kind == .histogram else {
            let number = Double(bitPattern: number.load(ordering: .relaxed))
            text += "\(name)\(braces) \(Exposition.number(number))\n"
            return
        }
        let histogram = histogram.withLock { $0 }
        var total: UInt64 = 0
        let separator = labels.isEmpty ? "" : ","
        for (index, count) in histogram.counts.enumerated() {
            total += count
            let bound = index < bounds.count ? Exposition.number(bounds[index]) : "+Inf"
            text += "\(name)_bucket{\(labels)\(separator)le=\"\(bound)\"} \(total)\n"
        }
        text += "\(name)_sum\(braces) \(Exposition.number(histogram.sum))\n"
        text += "\(name)_count\(braces) \(total)\n"
    }
}

extension Series: CounterHandler, FloatingPointCounterHandler {
    func increment(by amount: Int64) { increment(by: Double(amount)) }

    func increment(by amount: Double) {
        // A counter only grows. A negative amount is a caller's mistake, which rate() would take for a restart.
        if kind == .gauge || amount > 0 { add(amount) }
    }

    func reset() {
        number.store(0, ordering: .relaxed)
    }
}

extension Series: MeterHandler, RecorderHandler {
    func set(_ value: Int64) { observe(Double(value)) }
    func set(_ value: Double) { observe(value) }
    func decrement(by amount: Double) { add(-amount) }
    func record(_ value: Int64) { observe(Double(value)) }
    func record(_ value: Double) { observe(value) }
}

extension Series: TimerHandler {
    func recordNanoseconds(_ duration: Int64) { observe(Double(duration) / 1e9) }
}
