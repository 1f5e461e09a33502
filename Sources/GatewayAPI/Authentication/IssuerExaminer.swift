import FoundationEssentials
import GatewayCore
import JOSE
import StrictJSON

/// Checks an issuer: its discovery document, its keys, the sign-in to the console and, if given, a token.
///
/// Documents are requested anew. What the authenticator holds stays as it is.
struct IssuerExaminer: Sendable {
    let documents: any IssuerDocuments
    let now: @Sendable () -> Date

    /// Makes an examiner.
    init(documents: any IssuerDocuments, now: @escaping @Sendable () -> Date) {
        self.documents = documents
        self.now = now
    }

    /// Checks an issuer. Every failure is a finding, never an error.
    ///
    /// - Parameters:
    ///   - issuer: The row.
    ///   - token: A token of the issuer, if one is to be judged.
    ///   - origin: The origin of the console, if it is known.
    @Sendable func examine(_ issuer: Issuer, token: Secret<String>?, origin: String?) async -> IssuerValidation {
        let url = Self.discoveryURL(of: issuer)
        async let discovery = document(at: url)
        async let published = document(at: issuer.keys.url)
        var round = Round(issuer: issuer)
        round.judgeDiscovery(await discovery, at: url)
        round.judgeKeys(await published)
        if let console = issuer.console {
            let examination = SignInExamination(of: console, issuer: issuer, document: round.published)
            var answer: TokenEndpointAnswer?
            if let endpoint = examination.endpoints?.token {
                answer = await documents.exchange(at: endpoint, clientID: console.clientID, origin: origin)
            }
            round.validation.findings += examination.findings(for: answer, origin: origin)
        }
        if let token {
            let examination = TokenExamination(
                of: token, issuer: issuer, keys: round.keys, at: now(), skew: TokenAuthenticator.skew)
            round.validation.findings += examination.findings
            round.validation.bearer = examination.bearer
        }
        return round.validation
    }

    private func document(at url: String?) async -> IssuerDocument? {
        guard let url else { return nil }
        return await documents.document(at: url, within: nil)
    }

    /// The URL of the discovery document; `nil` if the issuer's name is no URL that can be fetched, or if it shares a
    /// secret with the gateway.
    private static func discoveryURL(of issuer: Issuer) -> String? {
        if case .secret = issuer.keys { return nil }
        return issuer.discoveryURL
    }
}

/// One running check.
private struct Round {
    let issuer: Issuer
    var validation = IssuerValidation()
    /// The keys of the row, as the authenticator would read them; `nil` if they cannot be read.
    private(set) var keys: KeySet?
    /// The discovery document, if it can be read.
    private(set) var published: DiscoveryDocument?

    init(issuer: Issuer) {
        self.issuer = issuer
    }

    mutating func judgeDiscovery(_ document: IssuerDocument?, at url: String?) {
        guard let document, let url else {
            let advice =
                "The issuer's name is no URL that can be fetched, or its tokens have a shared secret: there is no document."
            note(.init(.discovery, .skipped, advice: advice))
            note(.init(.issuer, .skipped))
            return note(.init(.keysURL, .skipped))
        }
        let hint = "Tokens are accepted without this document."
        var finding = document.finding(.discovery, at: url, ifMissing: .warned, hint: hint)
        guard case .success(let bytes) = document.content, let content = DiscoveryDocument(bytes) else {
            if finding.outcome == .passed {
                finding.outcome = .warned
                finding.failure = .unexpected
                finding.advice = "The answer is not a JSON object. \(hint)"
            }
            note(finding)
            note(.init(.issuer, .skipped))
            return note(.init(.keysURL, .skipped))
        }
        note(finding)
        published = content
        judgeName(content)
        judgeKeysURL(content)
    }

    private mutating func judgeName(_ document: DiscoveryDocument) {
        guard let name = document.issuer else {
            return note(.init(.issuer, .warned, advice: "The document does not name the issuer."))
        }
        let isSame = ExactText(name) == ExactText(issuer.issuer)
        note(
            .init(
                .issuer, isSame ? .passed : .failed, found: shown(name),
                advice: isSame
                    ? nil
                    : "Tokens have this name in 'iss', and the row has another. "
                        + "Create a new row with this 'issuer', and delete the old one."))
    }

    private mutating func judgeKeysURL(_ document: DiscoveryDocument) {
        guard case .url(let url) = issuer.keys else { return note(.init(.keysURL, .skipped)) }
        guard let other = document.keysURL else {
            return note(.init(.keysURL, .warned, advice: "The document names no key set."))
        }
        let isSame = ExactText(other) == ExactText(url)
        note(
            .init(
                .keysURL, isSame ? .passed : .warned, found: shown(other),
                advice: isSame
                    ? nil
                    : "The issuer publishes its keys at this URL, and the row has another. New keys may not arrive."))
    }

    mutating func judgeKeys(_ published: IssuerDocument?) {
        switch issuer.keys {
        case .secret(let secret):
            keys = KeySet([VerificationKey(secret: Array(secret.reveal().utf8))].compactMap(\.self))
            for step in [IssuerValidation.Step.keySet, .keys, .algorithms] { note(.init(step, .passed)) }
        case .inline(let text):
            judgeKeySet(Array(text.utf8), .init(.keySet, .passed))
        case .url(let url):
            guard let published else { return }
            let finding = published.finding(.keySet, at: url, ifMissing: .failed)
            guard case .success(let bytes) = published.content else {
                note(finding)
                note(.init(.keys, .skipped))
                return note(.init(.algorithms, .skipped))
            }
            judgeKeySet(bytes, finding)
        }
    }

    private mutating func judgeKeySet(_ document: [UInt8], _ reading: IssuerValidation.Finding) {
        var reading = reading
        let algorithms = issuer.algorithms
        guard let examination = KeyExamination(document: document, algorithms: algorithms),
            let set = KeySet(document: document, algorithms: algorithms)
        else {
            reading.outcome = .failed
            reading.failure = .unexpected
            reading.advice =
                "This is not a JWK set: an object with a list 'keys' of at most \(KeySet.maxKeys) keys."
            note(reading)
            note(.init(.keys, .skipped))
            return note(.init(.algorithms, .skipped))
        }
        note(reading)
        keys = set
        validation.keys = examination.keys
        judge(examination)
    }

    private mutating func judge(_ examination: KeyExamination) {
        let usable = examination.keys.count { !$0.usableWith.isEmpty }
        let found = "\(usable) of \(examination.keys.count)"
        guard usable > 0 else {
            let advice = "No key can be used, so no token is accepted. 'keys' says why for each."
            note(.init(.keys, .failed, found: found, advice: advice))
            return note(.init(.algorithms, .skipped))
        }
        let leak = "The set has members that must stay secret. Replace these keys at the issuer."
        note(
            .init(
                .keys, examination.publishesSecret ? .warned : .passed, found: found,
                advice: examination.publishesSecret ? leak : nil))
        let missing = issuer.algorithms.filter { !examination.usableAlgorithms.contains($0) }
        if !missing.isEmpty {
            let advice = "No key can be used with these algorithms. Remove them from the row, unless keys will follow."
            return note(.init(.algorithms, .warned, found: missing.joined(separator: ", "), advice: advice))
        }
        if let listed = published?.signingAlgorithms, !listed.contains(where: issuer.algorithms.contains) {
            let advice = "The discovery document lists only these algorithms, and the row has none of them."
            return note(.init(.algorithms, .warned, found: shown(listed.joined(separator: ", ")), advice: advice))
        }
        note(.init(.algorithms, .passed))
    }

    private mutating func note(_ finding: IssuerValidation.Finding) {
        validation.findings.append(finding)
    }

    private func shown(_ text: String) -> String {
        String(text.prefix(JSONValue.longestShown))
    }
}

extension Issuer.Keys {
    /// The URL of the key set; `nil` if the row has the keys.
    fileprivate var url: String? {
        if case .url(let url) = self { url } else { nil }
    }
}
