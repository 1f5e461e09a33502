import FoundationEssentials
import GatewayCore
import GatewayPostgres
import Logging
import MicroHTTPD
import ServiceLifecycle
import Systemd

/// Reads the files of certificates and master keys again when the process gets SIGHUP, and forgets the sessions and the
/// policy in memory. If anything is wrong with one of the files, all stays as it was.
struct Reloading: Service {
    /// Tells the other gateways of the master keys.
    let heartbeat: Heartbeat
    let supervision: Supervision
    let servers: [HTTPServer]
    let masterKeys: MasterKeyRing
    let cache: PolicyCache
    let sessions: SessionCache
    let connections: DatabaseConnections
    let draining: Draining
    let logger: Logger

    func run() async {
        for await _ in supervision.hangUps.cancelOnGracefulShutdown() {
            // A reload waits for PostgreSQL, and a gateway that stops must not wait for a reload.
            await cancelWhenGracefulShutdown { await reload() }
        }
    }

    private func reload() async {
        tell(.reloading, "Reloading.")
        do {
            let certificates = try servers.compactMap { try $0.renewedCertificate() }
            try refuseDates(of: certificates.first)
            let keys = try await renewedKeys()
            for certificate in certificates { certificate.use() }
            if let keys { masterKeys.replace(with: keys) }
            // A secret that did not open may open now: by other keys, or because a rotation sealed it again, which no
            // line of the log of policy tells.
            cache.discard()
            // Those that were ended at the provider would be handed out until their time.
            sessions.discard()
            if keys != nil { await heartbeat.beat() }
            logger.info(
                "reloaded",
                metadata: [
                    "tls": "\(!certificates.isEmpty)",
                    "master.keys": "\(masterKeys.identifiers.joined(separator: ","))",
                ])
            tell(.ready, "Serving.")
        } catch {
            // The gateway stops.
            guard !Task.isCancelled else { return }
            let cause = (error as? SettingMistakes)?.mistakes.joined(separator: "; ") ?? "\(error)"
            logger.error("reloading failed; everything stays as it was", metadata: ["cause": "\(cause)"])
            tell(.ready, "Serving. The last reload failed: \(cause)")
        }
    }

    /// Refuses a certificate that clients would refuse for its dates, unless they refuse the present one as well. All
    /// listeners have the same.
    private func refuseDates(of renewed: RenewedCertificate?) throws {
        let now = Date.now
        guard let renewed, let flaw = CertificateDates.flaw(ofPEM: renewed.certificate, at: now) else { return }
        if let present = servers.first?.certificate, CertificateDates.flaw(ofPEM: present, at: now) == nil {
            throw SettingMistakes(mistakes: [
                "\(SettingName.tlsCertificateFile.variable): \(flaw), and the present certificate is valid"
            ])
        }
        CertificateDates.warn(of: flaw, logger: logger)
    }

    /// Sends a message to systemd, unless the gateway drains: systemd must go on seeing a gateway that stops.
    private func tell(_ message: ServiceNotifier.Message, _ status: String) {
        guard !draining.isUnderWay else { return }
        supervision.notifier?.send(message, .status(status))
    }

    /// Reads the master keys again, tells the other gateways of them, tries whether they open what the database holds,
    /// and compares them with those of the others; `nil` if they are the same as before.
    private func renewedKeys() async throws -> MasterKeyRing? {
        var reader = supervision.reader
        guard let keys = MasterKeyRing(reading: &reader) else { throw SettingMistakes(mistakes: reader.mistakes) }
        guard !keys.isSame(as: masterKeys) else { return nil }
        masterKeys.announce(keys)
        do {
            try await connections.check(keys, announcedBy: heartbeat, logger: logger)
        } catch {
            masterKeys.withdraw()
            await heartbeat.beat()
            throw error
        }
        return keys
    }
}
