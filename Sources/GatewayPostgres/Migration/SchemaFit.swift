public import LibPQ
public import Logging
import Synchronization

/// Tells whether this program fits the schema. While it does not, nothing is issued.
///
/// The database itself guarantees this. Whatever takes something away from gateways ends with a line for all scopes in
/// `policy_log`, which makes every earlier decision stale. A reader gets a new position only from a schema that it fits
/// (``PolicyStatements/latest``). This object lets the gateway refuse a request without a round trip, and say why.
public final class SchemaFit: Sendable {
    private let state = Mutex(State())
    private let broken = Atomic(false)
    private let outage: Outage?
    private let logger: Logger

    /// Why the schema does not fit.
    struct Misfit: Sendable, Equatable {
        /// The reason, which is safe to show to anyone.
        let flaw: String
        /// The reason with what differs, for the log; `nil` where whoever noticed does not know.
        let detail: String?

        /// This program does not fit the schema. Policy is not read then, and whoever reads it learns no more.
        static let other = Misfit(flaw: SchemaFit.otherSchema, detail: nil)

        private init(flaw: String, detail: String?) {
            self.flaw = flaw
            self.detail = detail
        }

        /// This program does not fit the schema, for the given reason.
        init(_ failure: Migrator.Failure) {
            flaw = "\(SchemaFit.otherSchema) \(failure)"
            detail = flaw
        }

        /// A statement names what the schema lacks. PostgreSQL's message, which is for the log alone, says what.
        init(_ flaw: String = SchemaFit.partsMissing, missing error: PostgresError) {
            self.flaw = flaw
            detail = "\(flaw) \(error)"
        }
    }

    private struct State {
        var misfit: Misfit?
        /// The details that the log has.
        var told: Set<String> = []
        /// Whether the log has a line of its own for this, so that the end needs one too.
        var hasOwnLine = false

        /// Takes note of a misfit.
        ///
        /// - Returns: Whether it is the first, and whether the log lacks what it tells of the differences.
        mutating func note(_ new: Misfit) -> (isFirst: Bool, isNews: Bool) {
            let isFirst = misfit == nil
            // Who reads policy sees a misfit again and again, and never what differs.
            guard misfit?.detail == nil || new.detail != nil else { return (false, false) }
            misfit = new
            guard let detail = new.detail, told.count < SchemaFit.maxDetails else { return (isFirst, false) }
            return (isFirst, told.insert(detail).inserted)
        }
    }

    /// Most details that have a line of the log, from one misfit to the time when the schema fits again.
    private static let maxDetails = 5
    /// The message when this program does not fit the schema.
    static let otherSchema = """
        This version does not fit the schema: run 'sluice migrate', or start the version that fits.
        """
    /// The message when the schema lacks parts that recordings need.
    static let partsMissing = """
        Functions, tables or columns that recordings need are missing: run 'sluice migrate', which makes functions again.
        """

    /// Creates an object that says the schema fits until ``breaks(_:)`` is called.
    ///
    /// - Parameters:
    ///   - outage: Begins when the schema ceases to fit.
    ///   - logger: Receives the reason if an outage is already under way.
    public init(outage: Outage? = nil, logger: Logger) {
        self.outage = outage
        self.logger = logger
    }

    /// Whether issuing has stopped because the schema does not fit.
    var isBroken: Bool { broken.load(ordering: .relaxed) }

    /// Why nothing may be issued; `nil` if the schema fits.
    var flaw: String? { state.withLock { $0.misfit?.flaw } }

    /// Stops issuing, for the reason given. Whoever notices first may not know what differs; the log then gets another
    /// line once somebody does.
    func breaks(_ misfit: Misfit) {
        let (isFirst, isNews) = state.withLock { $0.note(misfit) }
        broken.store(true, ordering: .relaxed)
        guard isFirst || isNews else { return }
        let reason = misfit.detail ?? misfit.flaw
        if isFirst {
            // Both the beginning and the end of an outage have a line already.
            guard outage?.note(reason, "the schema does not fit") != true else { return }
            state.withLock { $0.hasOwnLine = true }
        }
        logger.error("the schema does not fit", metadata: ["reason": "\(reason)"])
    }

    /// Resumes issuing, after the database was seen to have what this program needs.
    func mends() {
        guard isBroken else { return }
        let hadOwnLine = state.withLock { state in exchange(&state, with: State()).hasOwnLine }
        broken.store(false, ordering: .relaxed)
        if hadOwnLine { logger.warning("the schema fits again") }
    }
}
