import FoundationEssentials
import GatewayCore

/// Decides which refusals are kept, so that neither an attack nor a broken client fills memory or the table.
///
/// Counts begin anew with each batch. A batch is written every five seconds.
struct RefusalSampler {
    /// How many refusals of a batch are kept.
    struct Limits: Sendable {
        /// In all. With a batch every five seconds: 20 in a second.
        var perBatch = 100
        /// For each principal, or, for callers without one, each address; for version 6, each network of 64 bits.
        var perOrigin = 10
    }

    private let limits: Limits
    private(set) var batch = RefusalTable.Batch()
    private var origins: [String: Int] = [:]

    init(_ limits: Limits) {
        self.limits = limits
    }

    /// Adds a refusal to the batch, or counts it as dropped. Returns whether it was added.
    mutating func add(_ refusal: RefusalRecord) -> Bool {
        let origin = refusal.principal?.rawValue ?? refusal.sourceAddress?.subscriber ?? ""
        guard batch.rows.count < limits.perBatch, origins[origin, default: 0] < limits.perOrigin else {
            drop(1, at: refusal.at)
            return false
        }
        origins[origin, default: 0] += 1
        batch.rows.append(refusal)
        return true
    }

    /// Counts refusals of a minute as dropped.
    mutating func drop(_ count: Int64, at time: Date) {
        let minute = Date(timeIntervalSince1970: (time.timeIntervalSince1970 / 60).rounded(.down) * 60)
        batch.dropped[minute, default: 0] += count
        // The database may be away for long. Then the oldest minutes become one.
        guard batch.dropped.count > Self.maxMinutes, let (first, number) = batch.dropped.min(by: { $0.key < $1.key })
        else { return }
        batch.dropped[first] = nil
        if let next = batch.dropped.keys.min() { batch.dropped[next, default: 0] += number }
    }

    private static let maxMinutes = 120

    /// Takes the batch and begins the next one.
    mutating func take() -> RefusalTable.Batch {
        defer { self = RefusalSampler(limits) }
        return batch
    }

    /// Takes back a batch that was not written. Rows that no longer fit are dropped.
    mutating func restore(_ old: RefusalTable.Batch) {
        let newer = take()
        for (minute, count) in old.dropped { drop(count, at: minute) }
        for (minute, count) in newer.dropped { drop(count, at: minute) }
        for row in old.rows + newer.rows { _ = add(row) }
    }
}
