/// Issues links for uploads of objects that are named by their content, so that what is there need not be sent again.
///
/// The store is asked about each object, by one HEAD. Only callers who may upload an object learn whether it is there.
public struct MissingUploads: Sendable {
    /// What a caller gets for one object.
    public enum Outcome: Sendable {
        /// The object is at the store already; nothing was issued.
        case present(StoredObject)
        /// The link, already on record.
        case link(IssuedURL)
    }

    private let issuing: ProvenIssuing
    private let urls: PresignedURLs
    private let cache: PolicyCache
    private let objects: any StoredObjects
    private let answerDeadline: Duration
    private let instant: @Sendable () -> ContinuousClock.Instant
    /// Users decide when stores are asked, so the gate limits the batches, and each batch its requests and its time.
    private let gate = Gate(size: 8, share: 2)

    private static let requestsAtOnce = 16
    /// Time that the store's last answer, of five seconds at most, and the writing of the answer may take.
    private static let lastAnswer = Duration.seconds(6)

    /// Creates the use case from its parts.
    ///
    /// - Parameters:
    ///   - issuing: Decides whether the caller may upload, before the store is asked.
    ///   - urls: Issues the links.
    ///   - cache: Knows the protocols that a bucket opens.
    ///   - objects: Asks stores what is there.
    ///   - answerDeadline: Time after which a request is given up, so that a batch must have its answer before.
    ///   - instant: Returns the current instant, which limits the time of a batch.
    public init(
        _ issuing: ProvenIssuing, urls: PresignedURLs, cache: PolicyCache, objects: any StoredObjects,
        answerDeadline: Duration, instant: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        self.issuing = issuing
        self.urls = urls
        self.cache = cache
        self.objects = objects
        self.answerDeadline = answerDeadline
        self.instant = instant
    }

    /// Whether a bucket's links must be issued without a SHA-256: its scheme cannot bind one, and the bucket opens a
    /// protocol for uploads of which only the size is checked.
    ///
    /// The answer decides nothing. Whether the bucket opens the protocol, which it does only where its scheme cannot,
    /// is proved when a link is recorded. So it is `false` for a bucket that cannot be read, too.
    /// - Throws: `slowDown`, `unavailable`.
    func checksSizesAlone(
        in bucket: BucketName, by clientProtocol: ClientProtocol
    ) async throws(GatewayError) -> Bool {
        do throws(GatewayError) {
            return try await cache.bucket(named: bucket)?.opens(clientProtocol) ?? false
        } catch {
            guard error == .unreadable(.bucket(bucket)) else { throw error }
            return false
        }
    }

    /// Returns why each upload would be refused; `nil` where it is permitted. Nothing is issued, and no store is asked.
    ///
    /// - Throws: The errors that concern the whole batch.
    public func refusals(
        of requests: [IssueRequest], in context: RequestContext
    ) async throws(GatewayError) -> [GatewayError?] {
        try await issuing.check(requests, in: context)
    }

    /// Issues links for the objects that are not at the store, independently of each other, and records them together.
    ///
    /// A store that answers slowly is asked for as long as the links can still be recorded before the deadline of the
    /// request, and at least about the first objects.
    /// - Parameters:
    ///   - requests: The uploads.
    ///   - context: The caller and the circumstances of the request. Its deadline does not include the store's answers.
    ///   - timeout: Longest time that the links may wait to be recorded, once the store has answered.
    /// - Returns: For each request, in order, the outcome; or the refusal, or `storeRefused`, `unavailable`,
    ///   `unauthenticated`, `expiredToken`.
    /// - Throws: `slowDown` if too many batches wait for stores, of all or of the caller's; the errors that concern the
    ///   whole batch.
    public func issue(
        _ requests: [IssueRequest], in context: RequestContext, timeout: Duration
    ) async throws(GatewayError) -> [Result<Outcome, GatewayError>] {
        let end = instant() + answerDeadline - timeout - Self.lastAnswer
        let requests = requests.enumerated().map { $1.identified(at: $0, in: context) }
        let refusals = try await issuing.check(requests, in: context)
        var outcomes: [Result<Outcome, GatewayError>?] = refusals.map { $0.map { .failure($0) } }
        let permitted = requests.indices.filter { outcomes[$0] == nil }
        let found = try await gate.pass(for: context.caller.principal) { () async throws(GatewayError) in
            await look(for: permitted, of: requests, until: end)
        }
        var missing: [Int] = []
        for (place, answer) in found {
            switch answer {
            case .success(let object?): outcomes[place] = .success(.present(object))
            case .success(nil): missing.append(place)
            case .failure(let error): outcomes[place] = .failure(error)
            }
        }
        missing.sort()
        let context = context.with(deadline: instant().advanced(by: timeout))
        for (place, link) in zip(missing, await urls.issue(missing.map { requests[$0] }, in: context)) {
            outcomes[place] = link.map(Outcome.link)
        }
        return outcomes.map { $0 ?? .failure(.unanswered) }
    }

    /// Asks the store about objects, a few at a time, and about none more after the end.
    private func look(
        for places: [Int], of requests: [IssueRequest], until end: ContinuousClock.Instant
    ) async -> [(place: Int, answer: Result<StoredObject?, GatewayError>)] {
        await withTaskGroup(of: (place: Int, answer: Result<StoredObject?, GatewayError>).self) { group in
            var waiting = places[...]
            func begin() {
                guard let place = waiting.popFirst() else { return }
                let request = requests[place]
                group.addTask {
                    do throws(GatewayError) {
                        let object = try await objects.object(request.key, in: request.bucket, withSHA256: false)
                        return (place, .success(object))
                    } catch {
                        // S3 answers so for what is missing, unless the credential may list the bucket. The link binds
                        // that it replaces nothing.
                        if case .storeRefused(403, _) = error { return (place, .success(nil)) }
                        return (place, .failure(error))
                    }
                }
            }
            for _ in 0..<Self.requestsAtOnce { begin() }
            var answers: [(place: Int, answer: Result<StoredObject?, GatewayError>)] = []
            while let answer = await group.next() {
                answers.append(answer)
                if instant() < end { begin() }
            }
            let late = GatewayError.unavailable(
                retryAfter: 5, cause: "the store answers too slowly for the whole batch")
            return answers + waiting.map { ($0, .failure(late)) }
        }
    }
}
