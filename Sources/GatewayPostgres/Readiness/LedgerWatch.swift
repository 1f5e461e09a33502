public import FoundationEssentials
public import LibPQ
public import Logging
public import ServiceLifecycle

/// Checks whether recordings succeed, and whether clock and schema fit. Answers from memory.
///
/// Recordings succeed while one of the ledger's connections records: the others' proposals go there. Each second one of
/// the connections gets a probe, and all of them once one has failed. Even if a connection hangs, an answer is at most
/// ``LaneHealth/staleness`` old: an older success no longer counts.
public struct LedgerWatch: Service {
    /// The faults found; a member is `nil` if that part is well. The texts are safe to show to anyone.
    public struct Flaws: Sendable, Equatable {
        /// Why recordings fail.
        public var recordings: String?
        /// Why the clock is not trusted.
        public var clock: String?
        /// Why the schema does not fit.
        public var schema: String?
    }

    /// Time between two checks.
    private static let interval = Duration.seconds(1)

    private let ledger: PostgresLedger
    private let schema: SchemaFit
    private let outage: Outage
    private let maxClockDifference: TimeInterval
    private let logger: Logger
    private let now: @Sendable () -> Date

    /// Creates a watch.
    ///
    /// - Parameters:
    ///   - ledger: The ledger to watch. It must have been created with the same `schema`.
    ///   - schema: Tells whether the schema fits.
    ///   - outage: Told when recordings succeed.
    ///   - maxClockDifference: Seconds by which PostgreSQL's clock may differ from the gateway's.
    ///   - logger: Receives a line when one connection fails while others record.
    ///   - now: Returns the gateway's current time.
    public init(
        ledger: PostgresLedger, schema: SchemaFit, outage: Outage, maxClockDifference: TimeInterval, logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.ledger = ledger
        self.schema = schema
        self.outage = outage
        self.maxClockDifference = maxClockDifference
        self.logger = logger
        self.now = now
    }

    /// Checks at once and then after every interval, until the service shuts down.
    public func run() async {
        await doRounds(every: Self.interval) { self.look() }
    }

    /// Asks for probes where they are due, and reports what they have found. Once a connection fails, all are tried:
    /// what fails it may fail the others, and a full disk only when they write.
    private func look() {
        let states = ledger.lanes.map(\.health.current)
        let rested = states.indices.filter { !states[$0].isAsked }
            .min { states[$0].looked ?? .distantPast < states[$1].looked ?? .distantPast }
        let isTroubled = states.contains { $0.troubledSince != nil }
        for (index, state) in states.enumerated()
        where index == rested || state.succeeded == nil || isTroubled || schema.isBroken {
            ledger.lanes[index].askForProbe(writes: isTroubled)
        }
        report(states)
    }

    private func report(_ states: [LaneHealth.State]) {
        let now = ContinuousClock.now
        if let succeeded = states.filter({ $0.records(now: now) }).compactMap(\.succeeded).max() {
            if !schema.isBroken { outage.wasWell(at: succeeded) }
            if !outage.isUnderWay { tellOfFailures(in: states, before: succeeded) }
        } else if states.contains(where: { $0.isTroubled(now: now) }),
            states.allSatisfy({ $0.isSuspect(now: now) }), states.contains(where: { $0.succeeded != nil }),
            let flaw = recordingsFlaw(states)
        {
            // Before the statements that hang reach their own limits, each of which would have a line of its own.
            outage.note(flaw, "no recording succeeds")
        }
    }

    /// Logs each connection that began to fail before another one succeeded, once. One that failed after that may be
    /// the first sign of an outage, and the reasons of an outage are told when it ends.
    private func tellOfFailures(in states: [LaneHealth.State], before succeeded: ContinuousClock.Instant) {
        for (index, state) in states.enumerated() {
            guard let flaw = state.flaw, let since = state.troubledSince, since < succeeded,
                ledger.lanes[index].health.tell()
            else { continue }
            logger.warning("a connection of the ledger fails, and the others record", metadata: ["reason": "\(flaw)"])
        }
    }

    /// Returns the faults known at this moment.
    public func flaws() -> Flaws {
        let states = ledger.lanes.map(\.health.current)
        return Flaws(recordings: recordingsFlaw(states), clock: clockFlaw(states), schema: schema.flaw)
    }

    private func recordingsFlaw(_ states: [LaneHealth.State]) -> String? {
        let now = ContinuousClock.now
        if states.contains(where: { $0.records(now: now) }) { return nil }
        if let flaw = states.lazy.compactMap({ $0.flaw(now: now) }).first { return flaw }
        // A failed recording may have had a cause of its own, which a probe will tell.
        if let succeeded = states.compactMap(\.succeeded).max(), now - succeeded <= LaneHealth.staleness { return nil }
        // Nothing is tried while the schema does not fit.
        guard !schema.isBroken else { return nil }
        let oldest = states.compactMap(\.step).min { $0.since < $1.since }
        return (oldest?.step ?? .answer).hanging
    }

    /// Seconds by which PostgreSQL's clock is ahead of the gateway's, by the last reading; `nil` before the first.
    public var clockDifference: TimeInterval? { clockDifference(ledger.lanes.map(\.health.current)) }

    private func clockDifference(_ states: [LaneHealth.State]) -> TimeInterval? {
        guard let reading = states.compactMap(\.clock).max(by: { $0.instant < $1.instant }) else { return nil }
        let passed = (ContinuousClock.now - reading.instant) / .seconds(1)
        return reading.server.addingTimeInterval(passed).timeIntervalSince(now())
    }

    private func clockFlaw(_ states: [LaneHealth.State]) -> String? {
        guard let difference = clockDifference(states), abs(difference) > maxClockDifference else { return nil }
        let direction = difference > 0 ? "behind" : "ahead of"
        return "The gateway's clock is \(Int(abs(difference))) s \(direction) that of PostgreSQL; "
            + "at most \(Int(maxClockDifference)) s are allowed."
    }
}

extension ContinuousClock.Instant {
    /// An instant before all others in use.
    fileprivate static var distantPast: Self { .now - .seconds(1 << 31) }
}
