import FoundationEssentials
import GatewayAPI
import GatewayPostgres
import LibPQ
import Logging
import Synchronization

/// Compares the master keys of a gateway that was cut off and is back, as they are compared at a start and a reload.
///
/// If they do not fit, the gateway is not ready, but does not end. Load balancers then ask others, which also keeps it
/// from sealing with a key that those lack. What needs no key, or another one, it still serves where it is the only
/// gateway, and a reload mends it. It is ready again by itself if the other gateway goes. It still announces its keys,
/// so that no gateway that has another key with the same identifier starts beside it.
final class MasterKeyWatch: Sendable {
    private let masterKeys: MasterKeyRing
    private let gateway: UUID
    private let connection: PostgresConnection
    private let logger: Logger
    private let flaws = Mutex<[MasterKeyError]>([])

    /// Creates a watch.
    ///
    /// - Parameters:
    ///   - masterKeys: The keys of the gateway.
    ///   - gateway: Identifier of this run of the gateway.
    ///   - connection: Logged in as the gateway.
    ///   - logger: Receives a line when the keys begin not to fit, and when they fit again.
    init(_ masterKeys: MasterKeyRing, of gateway: UUID, over connection: PostgresConnection, logger: Logger) {
        self.masterKeys = masterKeys
        self.gateway = gateway
        self.connection = connection
        self.logger = logger
    }

    /// The check of `/readyz`. It passes until a comparison finds that the keys do not fit. It names no key, because
    /// anyone may read it.
    var check: ReadinessCheck {
        let flaw = "The master keys do not fit the stored secrets, or those of another gateway; see the log."
        return ReadinessCheck(name: "masterKeys", flaw: flaws.withLock { $0.isEmpty } ? nil : flaw)
    }

    /// Compares the keys. Returns whether they are known to fit.
    func look() async -> Bool {
        do throws(PostgresError) {
            let found = try await masterKeys.flaws(besides: gateway, over: connection)
            tell(of: found)
            return found.isEmpty
        } catch {
            logger.report(error, "the master keys could not be compared", in: connection.outage)
            return false
        }
    }

    private func tell(of found: [MasterKeyError]) {
        let before = flaws.withLock { flaws in
            defer { flaws = found }
            return flaws
        }
        guard found != before else { return }
        guard !found.isEmpty else {
            logger.notice("the master keys fit again")
            return
        }
        var advice: [String] = []
        for flaw in found where !advice.contains(flaw.advice) { advice.append(flaw.advice) }
        advice.append(
            "Then reload or restart this gateway. If its keys are the wrong ones, end it, or reload it with the right "
                + "ones, before another gateway restarts: as long as it runs, a gateway that has another key with the "
                + "same identifier refuses to start.")
        logger.error(
            "the gateway was cut off, and its master keys no longer fit; it is not ready",
            metadata: [
                "cause": "\(found.map(\.description).joined(separator: "; "))",
                "advice": "\(advice.joined(separator: " "))",
            ])
    }
}
