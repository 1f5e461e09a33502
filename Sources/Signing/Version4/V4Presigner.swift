import Synchronization

/// Signs URLs by a "version 4" scheme with one credential. It derives a key once a day, and keeps it together with what
/// its URLs have in common. It is safe to share between threads.
public final class V4Presigner: Sendable {
    private struct State {
        var key: SigningKeyV4?
        var templates: [V4Template] = []
    }

    private static let maxTemplates = 16

    private let credential: SigningCredential
    private let scope: CredentialScope
    private let state = Mutex(State())

    /// Makes a signer for a credential in a scope.
    public init(_ credential: SigningCredential, scope: CredentialScope) {
        self.credential = credential
        self.scope = scope
    }

    /// Signs a URL.
    ///
    /// - Parameters:
    ///   - request: What the URL allows.
    ///   - instant: When the life of the URL begins.
    /// - Throws: ``SigningError`` for a request that the scheme cannot express; as ``SigningKeyV4/init(_:scope:at:)``.
    public func url(
        for request: borrowing PresignRequest, at instant: SigningInstant
    ) throws(SigningError) -> String {
        if request.query.isEmpty, let template = heldTemplate(for: request, at: instant) {
            return try V4Presigning.url(for: request, template: template)
        }
        let template = try V4Template(copy request, key: key(at: instant), at: instant)
        let url = try V4Presigning.url(for: request, template: template)
        if request.query.isEmpty { hold(template) }
        return url
    }

    /// The key for the day of an instant.
    ///
    /// - Throws: As ``SigningKeyV4/init(_:scope:at:)``.
    public func key(at instant: SigningInstant) throws(SigningError) -> SigningKeyV4 {
        let dayNumber = instant.dayNumber
        if let key = state.withLock(\.key), key.dayNumber == dayNumber { return key }
        let key = try SigningKeyV4(credential, scope: scope, at: instant)
        state.withLock { $0 = State(key: key) }
        return key
    }

    private func heldTemplate(for request: borrowing PresignRequest, at instant: SigningInstant) -> V4Template? {
        state.withLock { state in
            for place in state.templates.indices where state.templates[place].fits(request) {
                if state.templates[place].instant != instant {
                    guard state.templates[place].key.dayNumber == instant.dayNumber else { return nil }
                    state.templates[place] = V4Template(state.templates[place], at: instant)
                }
                return state.templates[place]
            }
            return nil
        }
    }

    private func hold(_ template: V4Template) {
        state.withLock { state in
            // Another thread may have replaced the key on a new day.
            guard state.key === template.key else { return }
            if state.templates.count >= Self.maxTemplates { state.templates.removeFirst() }
            state.templates.append(template)
        }
    }
}
