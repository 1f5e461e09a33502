import FoundationEssentials
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
    private let counts = Mutex<[Denial: Int64]>([:])

    /// Creates a counter.
    ///
    /// - Parameters:
    ///   - connection: Connection for the writes; may be shared.
    ///   - capacity: Maximum number of different refusals between two writes.
    ///   - logger: Receives the reasons why counts cannot be written.
    public init(connection: PostgresConnection, capacity: Int = 10_000, logger: Logger) {
        self.connection = connection
        self.capacity = capacity
        self.logger = logger
    }

    /// Counts a refusal without waiting.
    public func count(_ denial: Denial) {
        counts.withLock { add(1, to: denial, in: &$0) }
    }

    private func add(_ number: Int64, to denial: Denial, in counts: inout [Denial: Int64]) {
        if counts[denial] != nil || counts.count < capacity {
            counts[denial, default: 0] += number
        } else {
            // Codes are a closed set, so these entries are few.
            counts[Denial(principal: .anyone, bucket: nil, code: denial.code), default: 0] += number
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
                for (denial, number) in taken {
                    add(number, to: denial, in: &counts)
                }
            }
        }
    }

    static let add = Statement<[Denial: Int64], Void>(
        """
        INSERT INTO denials (principal, bucket, code, minute, count)
        SELECT d.principal, d.bucket, d.code, date_trunc('minute', clock_timestamp()), d.count
        FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS d (principal, bucket, code, count)
        ORDER BY d.principal COLLATE "C", d.bucket COLLATE "C", d.code
        ON CONFLICT (principal, bucket, code, minute) DO UPDATE SET count = denials.count + excluded.count
        """
    ) { counts in
        let rows = counts.map { ($0.key, $0.value) }
        return [
            rows.map(\.0.principal.rawValue), rows.map { $0.0.bucket?.rawValue ?? "" }, rows.map(\.0.code),
            rows.map(\.1),
        ]
    }
}
