public import FoundationEssentials
public import GatewayCore
public import LibPQ
public import Logging
public import ServiceLifecycle
import Synchronization

/// Counts refusals in memory and adds them to the database every few seconds.
///
/// Its memory is bounded: if too many different refusals arrive between two writes, the rest are counted under `*`.
public final class DenialCounter: DenialCounting, Service {
    /// Time between two writes.
    private static let interval = Duration.seconds(5)

    private let connection: PostgresConnection
    private let capacity: Int
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let counts = Mutex<[Counted: Int64]>([:])

    /// What is counted: refusals of a minute, in minutes since 1970.
    struct Counted: Hashable {
        var denial: Denial
        var minute: Int
    }

    /// Creates a counter.
    ///
    /// - Parameters:
    ///   - connection: Connection for the writes; may be shared.
    ///   - capacity: Maximum number of different refusals between two writes.
    ///   - logger: Receives the reasons why counts cannot be written.
    ///   - now: The gateway's clock, which says in which minute a refusal falls.
    public init(
        connection: PostgresConnection, capacity: Int = 10_000, logger: Logger, now: @escaping @Sendable () -> Date
    ) {
        self.connection = connection
        self.capacity = capacity
        self.logger = logger
        self.now = now
    }

    /// Counts a refusal without waiting.
    public func count(_ denial: Denial) {
        let minute = Int(now().timeIntervalSince1970 / 60)
        counts.withLock { add(1, to: Counted(denial: denial, minute: minute), in: &$0) }
    }

    private func add(_ number: Int64, to counted: Counted, in counts: inout [Counted: Int64]) {
        if counts[counted] != nil || counts.count < capacity {
            counts[counted, default: 0] += number
        } else {
            // Codes are a closed set, so these entries are few. If the database is away for long, they keep no minutes.
            var other = counted
            other.denial = Denial(principal: .anyone, bucket: nil, code: counted.denial.code)
            if counts[other] == nil, counts.count >= 2 * capacity {
                other = counts.keys.first { $0.denial == other.denial } ?? other
            }
            counts[other, default: 0] += number
        }
    }

    /// Writes after every interval until the service shuts down, and once more then.
    public func run() async {
        await doRounds(every: Self.interval) { await self.flush() }
        await flush(deadline: .now + .lastWrite)
    }

    /// Writes the counts. Keeps them for the next time if nothing was written. If the connection is lost at the commit,
    /// that is unknown, and they may be added twice.
    package func flush(deadline: ContinuousClock.Instant? = nil) async {
        let taken = counts.withLock { counts in
            defer { counts.removeAll(keepingCapacity: true) }
            return counts
        }
        guard !taken.isEmpty else { return }
        do throws(PostgresError) {
            try await connection.perform(Self.add, taken, deadline: deadline)
        } catch {
            logger.report(
                error, "denials not written yet", in: connection.outage, metadata: ["count": "\(taken.count)"])
            // The counts are written, though a failover may undo that. Writing them again would count them twice.
            if case .outcomeUnknown = error { return }
            counts.withLock { counts in
                for (counted, number) in taken {
                    add(number, to: counted, in: &counts)
                }
            }
        }
    }

    static let add = Statement<[Counted: Int64], Void>(
        """
        INSERT INTO denials (principal, bucket, code, minute, count)
        SELECT d.principal, d.bucket, d.code, d.minute, d.count
        FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::bigint[])
            AS d (principal, bucket, code, minute, count)
        ORDER BY d.principal COLLATE "C", d.bucket COLLATE "C", d.code, d.minute
        ON CONFLICT (principal, bucket, code, minute) DO UPDATE SET count = denials.count + excluded.count
        """
    ) { counts in
        let rows = counts.map { ($0.key, $0.value) }
        return [
            rows.map(\.0.denial.principal.rawValue), rows.map { $0.0.denial.bucket?.rawValue ?? "" },
            rows.map(\.0.denial.code), rows.map { Date(timeIntervalSince1970: TimeInterval($0.0.minute) * 60) },
            rows.map(\.1),
        ]
    }
}
