public import LibPQ
public import Logging
import Synchronization

/// Whether the schema is the one that this program was built for. While it is not, nothing is issued.
///
/// What makes this certain is in the database. Each migration, and each change of functions, ends with a line for all scopes in
/// `policy_log`, so that every decision made before it is stale; and a reader gets a new position only from a schema that fits
/// (``PolicyStatements/latest``). This object spares refused requests the way there, and says why.
public final class SchemaFit: Sendable {
    private let reason = Mutex<String?>(nil)
    private let broken = Atomic(false)
    private let outage: Outage?
    private let logger: Logger

    /// What is said where the schema is another one.
    static let otherSchema = """
        The schema is not the one that this version was built for: run 'sluice migrate', or start the version that fits.
        """
    /// What is said where recordings miss a part of it.
    static let partsMissing = "Functions, tables or columns that recordings need are missing: run 'sluice migrate'."

    /// Makes one that fits until told otherwise.
    ///
    /// - Parameters:
    ///   - outage: Begins where the schema ceases to fit.
    ///   - logger: Has the reason where an outage is under way already.
    public init(outage: Outage? = nil, logger: Logger) {
        self.outage = outage
        self.logger = logger
    }

    /// Whether nothing may be issued.
    var isBroken: Bool { broken.load(ordering: .relaxed) }

    /// Why nothing may be issued.
    var flaw: String? { reason.withLock { $0 } }

    /// Stops issuing.
    func breaks(_ why: String) {
        let isNew = reason.withLock { reason in
            defer { reason = why }
            return reason == nil
        }
        broken.store(true, ordering: .relaxed)
        guard isNew else { return }
        if outage?.note(why, "the schema does not fit") != true {
            logger.error("the schema does not fit", metadata: ["reason": "\(why)"])
        }
    }

    /// Has issuing go on: migrations and functions were seen to be those of this program.
    func mends() {
        guard isBroken else { return }
        reason.withLock { $0 = nil }
        broken.store(false, ordering: .relaxed)
    }
}
