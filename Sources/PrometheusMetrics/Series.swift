import CoreMetrics
import Synchronization

/// One series: a number, or the counts of a histogram.
final class Series: Sendable {
    private struct State {
        var value = 0.0
        /// Observations per bucket, the last one beyond all bounds; empty for plain numbers.
        var counts: [UInt64]
    }

    private let kind: Kind
    private let bounds: [Double]
    private let state: Mutex<State>

    init(_ kind: Kind, buckets: [Double]) {
        self.kind = kind
        bounds = kind == .histogram ? buckets : []
        state = Mutex(State(counts: kind == .histogram ? Array(repeating: 0, count: buckets.count + 1) : []))
    }

    /// Adds to a counter or gauge.
    private func add(_ amount: Double) {
        state.withLock { $0.value += amount }
    }

    /// Sets a gauge, or counts a value in a histogram, whose `value` is the sum.
    private func observe(_ value: Double) {
        guard !value.isNaN else { return }
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            if state.counts.isEmpty {
                state.value = value
            } else {
                state.value += value
                state.counts[bucket] += 1
            }
        }
    }

    /// Writes the lines of this series; `labels` is the text between the braces.
    func write(name: String, labels: String, to text: inout String) {
        let state = state.withLock { $0 }
        let braces = labels.isEmpty ? "" : "{\(labels)}"
        guard !state.counts.isEmpty else {
            text += "\(name)\(braces) \(Exposition.number(state.value))\n"
            return
        }
        var total: UInt64 = 0
        let separator = labels.isEmpty ? "" : ","
        for (index, count) in state.counts.enumerated() {
            total += count
            let bound = index < bounds.count ? Exposition.number(bounds[index]) : "+Inf"
            text += "\(name)_bucket{\(labels)\(separator)le=\"\(bound)\"} \(total)\n"
        }
        text += "\(name)_sum\(braces) \(Exposition.number(state.value))\n"
        text += "\(name)_count\(braces) \(total)\n"
    }
}

extension Series: CounterHandler, FloatingPointCounterHandler {
    func increment(by amount: Int64) { increment(by: Double(amount)) }

    func increment(by amount: Double) {
        // A counter only grows; what is negative is a caller's slip that rate() would take for a restart.
        if kind == .gauge || amount > 0 { add(amount) }
    }

    func reset() {
        state.withLock { $0.value = 0 }
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
