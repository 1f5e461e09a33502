import GatewayCore
import StrictJSON

/// Judges whether people can sign in to the console at an issuer, for an admin.
struct SignInExamination {
    private typealias Finding = IssuerValidation.Finding

    private let console: ConsoleSignIn
    private let issuer: Issuer
    private let document: DiscoveryDocument?
    /// The endpoints; `nil` if they are not known.
    let endpoints: SignInEndpoints?

    /// Finds the endpoints.
    ///
    /// - Parameters:
    ///   - console: The sign-in of the row.
    ///   - issuer: The row.
    ///   - document: The discovery document; `nil` if it cannot be read.
    init(of console: ConsoleSignIn, issuer: Issuer, document: DiscoveryDocument?) {
        self.console = console
        self.issuer = issuer
        self.document = document
        endpoints = console.endpoints(by: document, of: issuer.issuer)
    }

    /// Returns the findings, in the order of the steps.
    ///
    /// - Parameters:
    ///   - answer: The answers of the token endpoint; `nil` if it is not known.
    ///   - origin: The origin of the console, if it is known.
    func findings(for answer: TokenEndpointAnswer?, origin: String?) -> [IssuerValidation.Finding] {
        guard let endpoints else {
            let advice =
                "The row lacks an endpoint, and the discovery document cannot be read, "
                + "is of another issuer or has no https endpoints. Set both in 'console'."
            return [
                Finding(.signInEndpoints, .failed, advice: advice), pkce, Finding(.signInClient, .skipped),
                Finding(.signInCORS, .skipped), token,
            ]
        }
        let found = Self.shown("\(endpoints.authorization) \(endpoints.token)")
        guard let answer else {
            return [
                Finding(.signInEndpoints, .passed, found: found), pkce, Finding(.signInClient, .skipped),
                Finding(.signInCORS, .skipped), token,
            ]
        }
        return [
            Finding(.signInEndpoints, .passed, found: found), pkce, client(answer, at: endpoints.token),
            crossOrigin(answer, origin), token,
        ]
    }

    private var pkce: IssuerValidation.Finding {
        guard let document else { return Finding(.signInPKCE, .skipped) }
        guard let methods = document.challengeMethods else {
            let advice = "The discovery document does not say whether the issuer knows PKCE, which the console uses."
            return Finding(.signInPKCE, .warned, advice: advice)
        }
        let found = Self.shown(methods.joined(separator: ", "))
        guard !methods.contains("S256") else { return Finding(.signInPKCE, .passed, found: found) }
        let advice = "The console proves with S256 that a code is its own, and the issuer does not know this method."
        return Finding(.signInPKCE, .failed, found: found, advice: advice)
    }

    private func client(_ answer: TokenEndpointAnswer, at url: String) -> IssuerValidation.Finding {
        var finding = Finding(.signInClient, .passed, url: url, status: answer.status, duration: answer.duration)
        switch answer.content {
        case .failure(let failure):
            finding.outcome = .warned
            finding.failure = failure
            finding.advice =
                "The gateway cannot ask the token endpoint. "
                + "Browsers may still reach it, for the gateway itself does not need it."
        case .success(let body):
            let error = Self.errorCode(in: body)
            finding.found = error
            switch error {
            case "invalid_grant": break
            case "invalid_client", "unauthorized_client":
                finding.outcome = .failed
                finding.advice =
                    "The token endpoint does not accept the client without a secret. "
                    + "Check 'clientID', and register it as a public client (a single-page app) "
                    + "that may use authorization codes with PKCE."
            default: judgeClient(byMetadata: &finding)
            }
        }
        return finding
    }

    /// Judges the client by the discovery document, as the endpoint did not say whether it accepts the client.
    private func judgeClient(byMetadata finding: inout IssuerValidation.Finding) {
        guard let methods = document?.tokenAuthMethods, methods.contains("none") else {
            finding.outcome = .warned
            finding.advice =
                "The token endpoint does not say whether it accepts the client without a secret, "
                + "and the discovery document does not list the method 'none'. Check that the client is a public one."
            return
        }
    }

    private func crossOrigin(_ answer: TokenEndpointAnswer, _ origin: String?) -> IssuerValidation.Finding {
        guard let origin else {
            let advice = "Send 'origin', the origin of the console as browsers see it, such as https://sluice.example."
            return Finding(.signInCORS, .skipped, advice: advice)
        }
        guard case .success = answer.content else { return Finding(.signInCORS, .skipped, found: origin) }
        guard !answer.permitsOrigin else { return Finding(.signInCORS, .passed, found: origin) }
        let remedy = "Allow the origin there for the client (CORS, 'web origins')."
        return answer.preflightPermitsOrigin
            ? Finding(
                .signInCORS, .warned, found: origin,
                advice: "The token endpoint permits preflight requests of the origin, "
                    + "but its answer to a code that is not valid does not permit it. "
                    + "If people cannot sign in: \(remedy)")
            : Finding(
                .signInCORS, .failed, found: origin,
                advice: "The token endpoint does not let pages of the origin read its answers. \(remedy)")
    }

    private var token: IssuerValidation.Finding {
        let found = console.send.rawValue
        switch console.send {
        case .idToken:
            guard !issuer.audiences.contains(where: { ExactText($0) == ExactText(console.clientID) }) else {
                return Finding(.signInToken, .passed, found: found)
            }
            return Finding(
                .signInToken, .failed, found: found,
                advice: "An ID token names the client as its audience. Add '\(console.clientID)' to 'audiences'.")
        case .accessToken:
            return Finding(
                .signInToken, .passed, found: found,
                advice: "Some issuers give opaque access tokens, which are not accepted. Test one as 'token'.")
        }
    }

    /// The error in an answer of a token endpoint, if it is one that RFC 6749, section 5.2, names.
    private static func errorCode(in body: [UInt8]) -> String? {
        guard case .string(let code)? = (try? JSONReader.read(body))?["error"] else { return nil }
        let known = [
            "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
            "invalid_scope",
        ]
        return known.first { $0 == code }
    }

    private static func shown(_ text: String) -> String {
        String(text.prefix(JSONValue.longestShown))
    }
}
