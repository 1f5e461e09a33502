public import Figures
public import Logging
import Synchronization

/// Logs and counts the outages of one database: one line when an outage begins and one when it ends, however many
/// connections, statements and requests fail meanwhile.
///
/// All connections to the database share one instance, in ``PostgresConfiguration/outage``. Code that sees a statement
/// fail reports it with `Logger.report(_:_:in:level:metadata:)`. Code that checks the database reports when it works
/// again.
public final class Outage: Sendable {
    /// An outage in progress, or failures that may be the first of one.
    private struct Course {
        let began = ContinuousClock.now
        /// Whether it is an outage, which the log then says.
        var isOutage = false
        var lastFailure = ContinuousClock.now
        /// Start of the first check that found the database working after the last failure.
        var wellSince: ContinuousClock.Instant?
        var failures = 0
        var refused = 0
        var causes: [String] = []

        /// Counts a failure.
        mutating func count(_ cause: String) {
            failures += 1
            if causes.count < Outage.maxCauses, !causes.contains(cause) { causes.append(cause) }
        }
    }

    /// Outages that began.
    public let begun = Counter()
    /// Connections to the database that were established.
    public let connections = Counter()
    /// Attempts to connect to the database that failed.
    public let failedConnections = Counter()
    private let course = Mutex<Course?>(nil)
    /// Tells whether failures that the main work need not share are excused.
    private let works = Mutex<@Sendable () -> Bool>({ false })
    /// Whether there is a course.
    private let failing = Atomic(false)
    private let underWay = Atomic(false)
    private let quiet: Duration
    private let logger: Logger

    private static let maxCauses = 5

    /// Creates a log of the outages of one database.
    ///
    /// - Parameters:
    ///   - quiet: Time without any failure after which an outage ends. Failures that come and go thus count as one
    ///     outage.
    ///   - logger: Receives the lines.
    public init(quiet: Duration = .seconds(2), logger: Logger) {
        self.quiet = quiet
        self.logger = logger
    }

    /// Whether an outage is in progress.
    public var isUnderWay: Bool { underWay.load(ordering: .relaxed) }

    /// Records a failure of the database. The first one begins an outage, unless others do the work meanwhile.
    ///
    /// - Parameters:
    ///   - cause: Message of the database or the network, without values.
    ///   - message: The operation that failed.
    ///   - isSpare: Whether the database's main work went on without this connection until now: others did it, or this
    ///     one only listens. Then the failure is the first of an outage only if one of the others fails, too, before
    ///     the quiet time has passed.
    /// - Returns: Whether this failure began the outage, so that its cause is in the log.
    @discardableResult
    public func note(_ cause: String, _ message: String, isSpare: Bool = false) -> Bool {
        let begins = course.withLock { course in
            var current = course ?? Course()
            defer { course = current }
            current.lastFailure = .now
            current.wellSince = nil
            current.count(cause)
            failing.store(true, ordering: .relaxed)
            guard !isSpare, !current.isOutage else { return false }
            current.isOutage = true
            underWay.store(true, ordering: .relaxed)
            return true
        }
        guard begins else { return false }
        begun.add()
        logger.error("outage begins", metadata: ["first": "\(message)", "reason": "\(cause)"])
        return true
    }

    /// Sets when failures are excused that the main work need not share: failures to connect, and statements for which
    /// the server lacked something. Reported ones then neither begin an outage nor prolong one. Until it is set, none
    /// is excused.
    ///
    /// - Parameter works: Tells whether the database does its main work over connections that there are.
    public func excuseFailures(while works: @escaping @Sendable () -> Bool) {
        self.works.withLock { $0 = works }
    }

    /// Whether such failures are excused at the moment.
    fileprivate var excusesFailures: Bool {
        let works = self.works.withLock { $0 }
        return works()
    }

    /// Counts a failure to connect that is excused. While no outage is in progress, those that follow one another are
    /// told in one line, or are the first failures of an outage.
    fileprivate func countExcused(_ cause: String) {
        course.withLock { course in
            var current = course ?? Course()
            current.count(cause)
            course = current
            failing.store(true, ordering: .relaxed)
        }
    }

    /// Counts a refused request if an outage is in progress, or may have begun.
    public func countRefusal() {
        guard failing.load(ordering: .relaxed) else { return }
        course.withLock { $0?.refused += 1 }
    }

    /// Records that the database worked at an instant. This ends an outage once nothing has failed for the quiet time,
    /// and shows that failures which may have been the first of one were not.
    public func wasWell(at instant: ContinuousClock.Instant) {
        guard failing.load(ordering: .relaxed) else { return }
        let ended = course.withLock { course -> Course? in
            guard var current = course, instant > current.lastFailure else { return nil }
            current.wellSince = current.wellSince ?? instant
            course = current
            guard .now - current.lastFailure >= quiet else { return nil }
            failing.store(false, ordering: .relaxed)
            underWay.store(false, ordering: .relaxed)
            return course.take()
        }
        guard let ended else { return }
        let seconds = ((ended.wellSince ?? .now) - ended.began) / .seconds(1)
        logger.warning(
            ended.isOutage ? "outage ends" : "connections failed while others worked",
            metadata: [
                "duration.s": "\((seconds * 10).rounded() / 10)", "failures": "\(ended.failures)",
                "requests.refused": "\(ended.refused)", "reasons": "\(ended.causes.joined(separator: "; "))",
            ])
    }
}

extension Logger {
    /// The class of the SQLSTATEs with which functions of the schema refuse. PostgreSQL has no such class.
    private static let ownClass = "SL"

    /// Reports a failed statement: as part of an outage if it is one, otherwise in a line of its own. Excused failures
    /// to connect share a line. Other excused ones have a line each.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - message: The operation that failed.
    ///   - outage: The outages of the database. If `nil`, each failure has a line of its own.
    ///   - level: Level of a line of its own.
    ///   - metadata: Further metadata of a line of its own.
    public func report(
        _ error: any Error, _ message: Logger.Message, in outage: Outage?, level: Logger.Level = .warning,
        metadata: Logger.Metadata = [:]
    ) {
        if let outage, let error = error as? PostgresError,
            error.isOutage || (outage.isUnderWay && error.mayComeOfOutage),
            !(error.isOfOneStatement && outage.excusesFailures)
        {
            if error.isFailureToConnect, outage.excusesFailures {
                outage.countExcused("\(message): \(error)")
            } else {
                outage.note("\(error)", "\(message)")
            }
            return
        }
        // Whoever stops a gateway cancels its work, and wants no warning of it. A function's own refusal is an answer.
        let isWanted =
            switch error as? PostgresError {
            case .cancelled?, .outcomeUnknown(_, .cancellation?)?: true
            case .server(let error)?: error.sqlState.hasPrefix(Self.ownClass)
            default: false
            }
        log(
            level: isWanted ? .debug : level, message,
            metadata: metadata.merging(["reason": "\(error)"]) { own, _ in own })
    }
}

extension PostgresError {
    /// Whether no caller can use the database: it cannot be reached, breaks connections, does not confirm commits,
    /// accepts no writes or lacks resources. What follows from the caller's own interruption says nothing of that kind.
    public var isOutage: Bool {
        switch self {
        case .unavailable, .refused, .connectionLost: true
        case .outcomeUnknown(_, let interruption): interruption == nil
        case .server(let error):
            // 25006 means that the server accepts no writes. The classes are connections, resources, operator
            // intervention and system errors. A time limit concerns only the statement.
            error.sqlState == "25006"
                || ["08", "53", "57", "58"].contains { error.sqlState.utf8.starts(with: $0.utf8) } && !isWait
        default: false
        }
    }

    /// Whether there is no connection, because the server or the network refused it. One that was lost is no such case.
    fileprivate var isFailureToConnect: Bool {
        switch self {
        case .unavailable, .refused: true
        // too_many_connections.
        case .server(let error): error.sqlState == "53300"
        default: false
        }
    }

    /// Whether the server lacked something for this statement, such as locks, memory or room on a disk, or could not
    /// read or write a file. Others may succeed meanwhile.
    fileprivate var isOfOneStatement: Bool {
        guard let sqlState, !isFailureToConnect else { return false }
        return ["53", "58"].contains { sqlState.utf8.starts(with: $0.utf8) }
    }

    /// Whether the statement did not finish in time, which may be due to a lock or another caller.
    public var isWait: Bool {
        switch self {
        case .deadlineExceeded, .poolExhausted: true
        // query_canceled, lock_not_available, deadlock_detected.
        case .server(let error): ["57014", "55P03", "40P01"].contains(error.sqlState)
        default: false
        }
    }

    /// Whether the statement names a function, table or column that the schema lacks.
    public var missesSchema: Bool { sqlState.map { ["42883", "42P01", "42703"].contains($0) } ?? false }

    /// Whether a known outage may explain the error.
    fileprivate var mayComeOfOutage: Bool {
        if case .outcomeUnknown(_, .deadline?) = self { return true }
        return isWait || missesSchema
    }
}
