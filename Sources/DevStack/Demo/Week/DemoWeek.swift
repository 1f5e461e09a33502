public import FoundationEssentials
import GatewayCore

/// A week of the demo: thirty people in six groups ask for some twenty thousand links, forms, parts, redirects,
/// sessions and signatures, by day more than by night. Some are refused, and some uploads never arrive.
///
/// The rows are made up, but real: each was decided, signed, charged and recorded by the gateway's own use cases, whose
/// clock was set back. The same end gives the same week.
public struct DemoWeek: Sendable {
    private static let seed: UInt64 = 0x511ce
    private static let length: TimeInterval = 7 * 86_400

    private let gateway: WeekGateway
    private let keys: DemoKeys
    private let end: Date

    /// Prepares a week.
    ///
    /// - Parameters:
    ///   - gateway: Use cases whose clock shows ``start(before:)``.
    ///   - keys: The secrets of the demo.
    ///   - end: When the week ends: now.
    public init(gateway: WeekGateway, keys: DemoKeys, end: Date) {
        self.gateway = gateway
        self.keys = keys
        self.end = end
    }

    /// When the clock starts for a week: an hour before it, in which everything is set up.
    public static func start(before end: Date) -> Date { end.addingTimeInterval(-length - 3600) }

    /// Returns the dice that the identifiers of a week are thrown with.
    public static func dice() -> Dice { Dice(seed: seed) }

    /// Makes the rows.
    ///
    /// - Parameter storeEndpoint: Origin of the store.
    /// - Throws: `GatewayError` if the database fails.
    public func make(storeEndpoint: String) async throws {
        let (clock, dice) = (gateway.clock, Dice(seed: Self.seed + 1))
        try await clock.move(to: Self.start(before: end))
        try await DemoRows(stores: gateway.stores, keys: keys, now: { clock.now }).make(storeEndpoint: storeEndpoint)
        let rules = WeekRules(stores: gateway.stores, clock: clock, dice: dice)
        try await rules.make()

        let start = end.addingTimeInterval(-Self.length)
        let visitor = WeekVisitor(gateway: gateway, dice: dice)
        var changes = rules.changes[...]
        var settledAt = start
        for visit in WeekVisit.all(from: start, to: end, by: dice) {
            while let change = changes.first, visit.at >= start.addingTimeInterval(change.after * Self.length) {
                try await clock.move(to: start.addingTimeInterval(change.after * Self.length))
                try await change.make()
                changes.removeFirst()
            }
            try await clock.move(to: visit.at)
            if visit.at > settledAt + Self.settling {
                await gateway.settle()
                settledAt = visit.at
            }
            try await visitor.receive(visit.person)
        }
        try await clock.move(to: end)
        await gateway.settle()
        try await rules.finish()
    }

    /// Time between two rounds of settling.
    private static let settling: TimeInterval = 6 * 3600
}
