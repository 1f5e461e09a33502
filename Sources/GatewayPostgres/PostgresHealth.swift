public import Foundation
public import GatewayCore
public import LibPQ

/// Whether the database can serve, for readiness.
public struct PostgresHealth: Sendable {
    /// What a look at the database showed.
    public struct State: Sendable, Equatable {
        /// Whether it takes writes; a standby does not.
        public var isReadWrite: Bool
        /// How far its clock is ahead of the gateway's, in seconds; exact to half the round trip.
        public var clockDifference: TimeInterval
    }

    private let connection: PostgresConnection
    private let now: @Sendable () -> Date

    /// Makes a check.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the gateway; may be shared.
    ///   - now: The gateway's clock.
    public init(connection: PostgresConnection, now: @escaping @Sendable () -> Date) {
        self.connection = connection
        self.now = now
    }

    /// Looks at the database.
    ///
    /// - Throws: ``GatewayError/unavailable(retryAfter:)`` where it does not answer in time.
    public func check(deadline: ContinuousClock.Instant) async throws(GatewayError) -> State {
        let before = now()
        do throws(PostgresError) {
            guard let answer = try await connection.execute(Self.read, deadline: deadline).first else {
                throw .decoding(column: 0, reason: "no row")
            }
            let middle = before.addingTimeInterval(now().timeIntervalSince(before) / 2)
            return State(
                isReadWrite: answer.isReadWrite, clockDifference: answer.clock.timeIntervalSince(middle))
        } catch {
            throw .unavailable(retryAfter: 1)
        }
    }

    static let read = Statement<Void, (clock: Date, isReadWrite: Bool)>(
        """
        SELECT clock_timestamp(), NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = 'off'
        """, onlyReads: true
    ) { row throws(PostgresError) in
        (try row.decode(0), try row.decode(1))
    }
}
