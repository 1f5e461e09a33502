public import Logging
import Synchronization

/// Tells the log of the outages of one database: a line when one begins and a line when it is over, however many
/// connections, statements and requests fail meanwhile.
///
/// All connections to the database share one, in ``PostgresConfiguration/outage``. Whoever sees
/// a statement fail reports it with `Logger.report(_:_:in:level:metadata:)`; whoever looks
/// after the database says when it is well again.
public final class Outage: Sendable {
    /// An outage that is under way.
    private struct Course {
        let began = ContinuousClock.now
        var lastFailure = ContinuousClock.now
        /// When the first look began that found the database well after the last failure.
        var wellSince: ContinuousClock.Instant?
        var failures = 0
        var refused = 0
        var causes: [String] = []
    }

    private let course = Mutex<Course?>(nil)
    private let underWay = Atomic(false)
    private let quiet: Duration
    private let logger: Logger

    private static let maxCauses = 5

    /// Makes one for a database.
    ///
    /// - Parameters:
    ///   - quiet: How long nothing may fail before an outage is over, so that one that comes and goes is one.
    ///   - logger: Gets the lines.
    public init(quiet: Duration = .seconds(2), logger: Logger) {
        self.quiet = quiet
        self.logger = logger
    }

    /// Whether an outage is under way.
    public var isUnderWay: Bool { underWay.load(ordering: .relaxed) }

    /// Notes a failure that is the database's; the first begins an outage.
    ///
    /// - Parameters:
    ///   - cause: What the database or the network said, without values.
    ///   - message: What could not be done.
    /// - Returns: Whether the outage began with it, so that the log has its cause.
    @discardableResult
    public func note(_ cause: String, _ message: String) -> Bool {
        let isFirst = course.withLock { course in
            var current = course ?? Course()
            defer { course = current }
            current.lastFailure = .now
            current.wellSince = nil
            current.failures += 1
            if current.causes.count < Self.maxCauses, !current.causes.contains(cause) { current.causes.append(cause) }
            underWay.store(true, ordering: .relaxed)
            return current.failures == 1
        }
        guard isFirst else { return false }
        logger.error("outage begins", metadata: ["first": "\(message)", "reason": "\(cause)"])
        return true
    }

    /// Counts a request that was refused, where an outage is under way.
    public func countRefusal() {
        guard isUnderWay else { return }
        course.withLock { $0?.refused += 1 }
    }

    /// Says that all was well at an instant; that ends an outage once nothing fails any more.
    public func wasWell(at instant: ContinuousClock.Instant) {
        guard isUnderWay else { return }
        let ended = course.withLock { course -> Course? in
            guard var current = course, instant > current.lastFailure else { return nil }
            current.wellSince = current.wellSince ?? instant
            course = current
            guard .now - current.lastFailure >= quiet else { return nil }
            underWay.store(false, ordering: .relaxed)
            return course.take()
        }
        guard let ended else { return }
        let seconds = ((ended.wellSince ?? .now) - ended.began) / .seconds(1)
        logger.warning(
            "outage ends",
            metadata: [
                "duration.s": "\((seconds * 10).rounded() / 10)", "failures": "\(ended.failures)",
                "requests.refused": "\(ended.refused)", "reasons": "\(ended.causes.joined(separator: "; "))",
            ])
    }
}

extension Logger {
    /// Tells of a statement that failed: as a part of an outage where it is one, else in a line of its own.
    ///
    /// - Parameters:
    ///   - error: Why.
    ///   - message: What could not be done.
    ///   - outage: The outages of the database; without it each failure has its line.
    ///   - level: Of a line of its own.
    ///   - metadata: What else such a line tells.
    public func report(
        _ error: any Error, _ message: Logger.Message, in outage: Outage?, level: Logger.Level = .warning,
        metadata: Logger.Metadata = [:]
    ) {
        if let outage, let error = error as? PostgresError,
            error.isOutage || (outage.isUnderWay && error.mayComeOfOutage)
        {
            outage.note("\(error)", "\(message)")
            return
        }
        log(level: level, message, metadata: metadata.merging(["reason": "\(error)"]) { own, _ in own })
    }
}

extension PostgresError {
    /// Whether the database cannot be used by anybody: it cannot be reached, breaks off, does not
    /// confirm commits, takes no writes or lacks resources.
    public var isOutage: Bool {
        switch self {
        case .unavailable, .connectionLost, .outcomeUnknown: true
        case .server(let error):
            // Connections, resources, operators and the system; to take no writes. A time limit is the statement's own.
            error.sqlState == "25006"
                || ["08", "53", "57", "58"].contains { error.sqlState.utf8.starts(with: $0.utf8) } && !isWait
        default: false
        }
    }

    /// Whether the statement did not end in time, for which a lock or another caller may be to blame.
    public var isWait: Bool {
        switch self {
        case .deadlineExceeded, .poolExhausted: true
        // query_canceled, lock_not_available, deadlock_detected.
        case .server(let error): ["57014", "55P03", "40P01"].contains(error.sqlState)
        default: false
        }
    }

    /// Whether a statement names what the schema does not have: a function, a table, a column.
    public var missesSchema: Bool { sqlState.map { ["42883", "42P01", "42703"].contains($0) } ?? false }

    /// Whether an outage that is known explains it.
    fileprivate var mayComeOfOutage: Bool { isWait || missesSchema }
}
