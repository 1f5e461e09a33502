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

    private struct State {
        var reason: String?
        /// Whether the log has a line of its own for this, so that the end needs one too.
        var hasOwnLine = false
    }

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
    var flaw: String? { state.withLock { $0.reason } }

    /// Stops issuing, for the reason given.
    func breaks(_ why: String) {
        let isNew = state.withLock { state in
            defer { state.reason = why }
            return state.reason == nil
        }
        broken.store(true, ordering: .relaxed)
        guard isNew else { return }
        // Both the beginning and the end of an outage have a line already.
        guard outage?.note(why, "the schema does not fit") != true else { return }
        state.withLock { $0.hasOwnLine = true }
        logger.error("the schema does not fit", metadata: ["reason": "\(why)"])
    }

    /// Resumes issuing, after the database was seen to have what this program needs.
    func mends() {
        guard isBroken else { return }
        let hadOwnLine = state.withLock { state in exchange(&state, with: State()).hasOwnLine }
        broken.store(false, ordering: .relaxed)
        if hadOwnLine { logger.warning("the schema fits again") }
    }
}
