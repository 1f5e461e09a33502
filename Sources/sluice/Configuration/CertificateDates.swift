import FoundationEssentials
import LibCrypto
import Logging

/// The dates of the certificate chain that a gateway shows: outside of them, no client connects.
enum CertificateDates {
    /// Why clients refuse a chain at a moment.
    ///
    /// - Returns: `nil` if its dates are in order. Also for a text that cannot be read: whether it is a chain at all,
    ///   the server judges.
    static func flaw(ofPEM text: String, at now: Date) -> String? {
        guard let chain = try? CertificateChain(pem: text) else { return nil }
        let seconds = now.timeIntervalSince1970
        if seconds < Double(chain.startsAt) {
            return "a certificate of the chain is not valid before \(moment(chain.startsAt))"
        }
        guard seconds > Double(chain.expiresAt) else { return nil }
        return "a certificate of the chain expired at \(moment(chain.expiresAt))"
    }

    /// Warns that clients refuse the chain that they see.
    static func warn(of flaw: String, logger: Logger) {
        logger.warning(
            "clients refuse the certificate",
            metadata: [
                "cause": "\(flaw)",
                "advice": "Renew it, and send the gateway SIGHUP, by 'systemctl reload sluice' for example.",
            ])
    }

    private static func moment(_ seconds: Int) -> String {
        Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(.iso8601)
    }
}
