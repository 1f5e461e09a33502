/// Advice for an admin about a document of an issuer that cannot be read.
enum IssuerAdvice {
    /// Returns one or two sentences of advice.
    static func text(for failure: ProbeFailure) -> String {
        switch failure {
        case .blocked:
            "The address is not public, so nothing was sent there. "
                + "If you mean this address, list it in SLUICE_OUTBOUND_ALLOW; for plain http, list its origin."
        case .nameNotFound: "The host in the URL has no address. Check its spelling, and the gateway's name servers."
        case .unreachable: "Nothing listens at this address. Check host and port, and firewalls in between."
        case .timedOut: "The issuer did not answer in time. Check the route to it."
        case .tls: "The server does not use TLS, or the system does not trust its certificate for this name."
        case .unreadable: "The answer is not HTTP, or it is longer than 256 KiB. Check the URL."
        case .redirected: "The issuer redirects the request, and the gateway does not follow. Set the final URL."
        case .refused(let status, _):
            status >= 500
                ? "The issuer itself is in trouble. Try again later."
                : "The issuer has no such document for everybody. Check the path of the URL."
        case .unexpected, .clockDifference, .notSignable: "The answer is not the document that was expected."
        }
    }
}

extension IssuerDocument {
    /// The finding of the step that requested the document.
    ///
    /// - Parameter outcome: The outcome if there is no document.
    public func finding(
        _ step: IssuerValidation.Step, at url: String, ifMissing outcome: IssuerValidation.Outcome, hint: String? = nil
    ) -> IssuerValidation.Finding {
        var finding = IssuerValidation.Finding(step, .passed, url: url, status: status, duration: duration)
        guard case .failure(let failure) = content else { return finding }
        finding.outcome = outcome
        finding.failure = failure
        finding.advice = IssuerAdvice.text(for: failure) + (hint.map { " " + $0 } ?? "")
        return finding
    }
}
