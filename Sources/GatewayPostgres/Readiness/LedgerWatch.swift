public import Foundation
public import LibPQ
public import ServiceLifecycle

/// Looks whether recordings succeed, and whether clock and schema fit; answers from memory.
///
/// Each second one connection of the ledger is asked to look, and those that fail are. Whatever hangs, the answer is at
/// most ``staleness`` old: what succeeded before that no longer counts.
public struct LedgerWatch: Service {
    /// What is wrong; `nil` where nothing is. The texts are safe to show to anyone.
    public struct Flaws: Sendable, Equatable {
        /// Why recordings fail.
        public var recordings: String?
        /// Why the clock is not trusted.
        public var clock: String?
        /// Why the schema is not the one that is needed.
        public var schema: String?
    }

    private let ledger: PostgresLedger
    private let schema: SchemaFit
    private let outage: Outage
    private let maxClockDifference: TimeInterval
    private let interval: Duration
    private let now: @Sendable () -> Date

    /// How long a success counts.
    static let staleness = Duration.seconds(3)

    /// Makes a watch.
    ///
    /// - Parameters:
    ///   - ledger: What is watched; made with the same `schema`.
    ///   - outage: Told when all is well.
    ///   - maxClockDifference: Seconds by which PostgreSQL's clock may differ.
    ///   - interval: Time between two looks.
    ///   - now: The gateway's clock.
    public init(
        ledger: PostgresLedger, schema: SchemaFit, outage: Outage, maxClockDifference: TimeInterval,
        interval: Duration = .seconds(1), now: @escaping @Sendable () -> Date
    ) {
        self.ledger = ledger
        self.schema = schema
        self.outage = outage
        self.maxClockDifference = maxClockDifference
        self.interval = interval
        self.now = now
    }

    /// Looks at once and then every interval, until shut down.
    public func run() async {
        await doRounds(every: interval) { self.look() }
    }

    /// Has connections probed, and says where all is well.
    private func look() {
        let states = ledger.lanes.map(\.health.current)
        let rested = states.indices.filter { !states[$0].isAsked }
            .min { states[$0].looked ?? .distantPast < states[$1].looked ?? .distantPast }
        for (index, state) in states.enumerated()
        where index == rested || state.succeeded == nil || state.isDoubted || state.flaw != nil || schema.isBroken {
            ledger.lanes[index].askForProbe()
        }
        let isWell = !schema.isBroken && states.allSatisfy { $0.flaw(now: .now) == nil && !$0.isDoubted }
        if isWell, let succeeded = states.compactMap(\.succeeded).max() { outage.wasWell(at: succeeded) }
    }

    /// What is known at this moment.
    public func flaws() -> Flaws {
        let states = ledger.lanes.map(\.health.current)
        return Flaws(recordings: recordingsFlaw(states), clock: clockFlaw(states), schema: schema.flaw)
    }

    private func recordingsFlaw(_ states: [LaneHealth.State]) -> String? {
        let now = ContinuousClock.now
        if let flaw = states.lazy.compactMap({ $0.flaw(now: now) }).first { return flaw }
        if let succeeded = states.compactMap(\.succeeded).max(), now - succeeded <= Self.staleness { return nil }
        // While the schema does not fit, nothing is tried.
        guard !schema.isBroken else { return nil }
        let oldest = states.compactMap(\.step).min { $0.since < $1.since }
        return (oldest?.step ?? .answer).hanging
    }

    private func clockFlaw(_ states: [LaneHealth.State]) -> String? {
        guard let reading = states.compactMap(\.clock).max(by: { $0.instant < $1.instant }) else { return nil }
        let passed = (ContinuousClock.now - reading.instant) / .seconds(1)
        let difference = reading.server.addingTimeInterval(passed).timeIntervalSince(now())
        guard abs(difference) > maxClockDifference else { return nil }
        let direction = difference > 0 ? "behind" : "ahead of"
        return "The gateway's clock is \(Int(abs(difference))) s \(direction) PostgreSQL's; "
            + "at most \(Int(maxClockDifference)) s are allowed."
    }
}

extension ContinuousClock.Instant {
    /// Before every other.
    fileprivate static var distantPast: Self { .now - .seconds(1 << 31) }
}
