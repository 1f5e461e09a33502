import FoundationEssentials
import GatewayCore
import Logging
import Synchronization

/// The issuers where people sign in to the console, with their endpoints.
///
/// Anybody may ask for them, so rows and discovery documents are kept. Rows are read again after
/// `rowsMaxAge`; until that succeeds, those read last remain in force. Documents are fetched as ``Refetching`` says.
final class SignInOffers: Sendable {
    /// An issuer, and where people sign in.
    struct Offer: Sendable, Equatable {
        let issuer: SignInIssuer
        /// The endpoints; `nil` as long as the discovery document cannot be read.
        let endpoints: SignInEndpoints?
    }

    /// Age in seconds after which rows are read again.
    private static let rowsMaxAge: TimeInterval = 2
    /// Time for a document. The page waits for it, also for those who enter with an API key.
    private static let patience = Duration.seconds(2)

    private struct Held: Sendable {
        var document: DiscoveryDocument?
        var fetchedAt: Date?
        var triedAt: Date?
    }

    private struct State {
        var surroundings: ConsoleSurroundings?
        var readAt: Date?
        /// Documents by the name of their issuer.
        var documents: [ExactText: Held] = [:]
    }

    private let now: @Sendable () -> Date
    private let shelf: Shelf
    private let readings: Gathering<Bool, Void>
    private let fetches: Gathering<ExactText, Void>

    /// Holds what was read. The calls that fill it outlive no caller, and refer to this alone.
    private final class Shelf: Sendable {
        let state = Mutex(State())
    }

    init(
        directory: any ConsoleDirectory, documents: any IssuerDocuments, now: @escaping @Sendable () -> Date,
        logger: Logger
    ) {
        let shelf = Shelf()
        self.shelf = shelf
        self.now = now
        readings = Gathering(joinsCurrent: true) { _ throws(GatewayError) in
            let rows = try await directory.surroundings()
            let time = now()
            shelf.state.withLock { state in
                state.surroundings = rows
                state.readAt = time
                let names = Set(rows.issuers.map { ExactText($0.issuer) })
                state.documents = state.documents.filter { names.contains($0.key) }
            }
        }
        fetches = Gathering(joinsCurrent: true) { names throws(GatewayError) in
            await withTaskGroup { group in
                for name in names {
                    group.addTask {
                        let document = await Self.document(of: name.rawValue, documents, logger)
                        let time = now()
                        shelf.state.withLock { state in
                            // Until now, whoever asks for the document joins this fetch.
                            var held = state.documents[name] ?? Held()
                            held.triedAt = time
                            if let document {
                                held.document = document
                                held.fetchedAt = time
                            }
                            state.documents[name] = held
                        }
                    }
                }
            }
        }
    }

    /// Returns the rows.
    ///
    /// - Throws: `unavailable` if they were never read.
    func surroundings() async throws(GatewayError) -> ConsoleSurroundings {
        let time = now()
        let (held, isDue) = shelf.state.withLock { state in
            (state.surroundings, Refetching.hasPassed(Self.rowsMaxAge, since: state.readAt, at: time))
        }
        if let held, !isDue { return held }
        do throws(GatewayError) {
            try await readings.run([true])
        } catch {
            if let held { return held }
            throw error
        }
        return shelf.state.withLock { $0.surroundings } ?? ConsoleSurroundings()
    }

    /// Returns the issuers with their endpoints.
    ///
    /// - Throws: `unavailable` if the rows were never read.
    func offers() async throws(GatewayError) -> [Offer] {
        let issuers = try await surroundings().issuers
        let due = dueDocuments(of: issuers)
        if !due.isEmpty { try await fetches.run(due) }
        let held = shelf.state.withLock { $0.documents }
        return issuers.map { issuer in
            let document = held[ExactText(issuer.issuer)]?.document
            return Offer(issuer: issuer, endpoints: issuer.console.endpoints(by: document, of: issuer.issuer))
        }
    }

    /// Chooses the documents that are to be fetched now. They are due until their fetch ends.
    private func dueDocuments(of issuers: [SignInIssuer]) -> Set<ExactText> {
        let time = now()
        return shelf.state.withLock { state in
            var due: Set<ExactText> = []
            for issuer in issuers where !issuer.console.hasEndpoints {
                let name = ExactText(issuer.issuer)
                let held = state.documents[name] ?? Held()
                let isOld = Refetching.hasPassed(Refetching.maxAge, since: held.fetchedAt, at: time)
                let pause = held.document == nil ? Refetching.retry : Refetching.minInterval
                guard isOld, Refetching.hasPassed(pause, since: held.triedAt, at: time) else { continue }
                due.insert(name)
            }
            return due
        }
    }

    /// Fetches a document; `nil`, with a line in the log, if it cannot be used.
    private static func document(
        of name: String, _ documents: any IssuerDocuments, _ logger: Logger
    ) async -> DiscoveryDocument? {
        guard let url = Issuer.discoveryURL(of: name) else { return nil }
        let reason: String
        switch await documents.document(at: url, within: patience).content {
        case .failure(let failure): reason = failure.word
        case .success(let bytes):
            guard let document = DiscoveryDocument(bytes) else {
                reason = "no JSON object"
                break
            }
            guard document.signInEndpoints(of: name) == nil else { return document }
            reason = "another issuer, or no https endpoints"
        }
        logger.warning("no sign-in by the discovery document", metadata: ["url": "\(url)", "reason": "\(reason)"])
        return nil
    }
}

extension ConsoleSignIn {
    /// The endpoints of the row, and for those that it lacks those of the document.
    func endpoints(by document: DiscoveryDocument?, of name: String) -> SignInEndpoints? {
        if let authorizationEndpoint, let tokenEndpoint {
            return SignInEndpoints(
                authorization: authorizationEndpoint, token: tokenEndpoint, namesItselfInAnswers: false)
        }
        guard var endpoints = document?.signInEndpoints(of: name) else { return nil }
        if let authorizationEndpoint { endpoints.authorization = authorizationEndpoint }
        if let tokenEndpoint { endpoints.token = tokenEndpoint }
        return endpoints
    }
}
