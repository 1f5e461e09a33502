extension ProvenIssuing {
    /// Number of requests that are recorded together. A larger chunk would gain nothing and would fill the queue in
    /// which all requests wait.
    private static let chunk = 128
    /// Requests that are signed before others have a turn.
    private static let draftsPerTurn = 16
    /// Largest number of folders whose grants are read for the listings of one attempt.
    static let maxFolders = 64

    /// Issues several URLs independently of each other and records them together.
    ///
    /// - Returns: For each request, in order, the result that ``issue(_:in:)`` would give for it alone.
    func issue(_ bodies: [URLBody], in context: RequestContext) async -> [Result<IssuedURL, GatewayError>] {
        var round = Round(bodies)
        do throws(GatewayError) {
            if try await !answer(&round, in: ProofAttempt(context)) {
                try await untilProved(context) { attempt throws(GatewayError) -> Void? in
                    try await self.answer(&round, in: attempt) ? () : nil
                }
            }
        } catch {
            round.failPending(error)
        }
        return round.results
    }

    /// Decides by committed policy about several requests, independently of each other. Nothing is signed, recorded or
    /// charged.
    ///
    /// - Returns: For each request, in order, its refusal; `nil` if it is permitted.
    /// - Throws: `slowDown`, `unavailable`, `unauthenticated`, `expiredToken`.
    func check(_ requests: [IssueRequest], in context: RequestContext) async throws(GatewayError) -> [GatewayError?] {
        try await untilProved(context) { attempt throws(GatewayError) in
            let policies = try await self.cache.access(
                of: attempt.caller.principal, groups: attempt.caller.groups,
                to: requests.map { ($0.bucket, $0.key) })
            var refusals: [GatewayError?] = []
            for (request, policy) in zip(requests, policies) {
                do throws(GatewayError) {
                    guard try self.check(request, under: policy.get(), in: attempt) else { return nil }
                    refusals.append(nil)
                } catch {
                    refusals.append(error)
                }
            }
            return refusals
        }
    }

    /// A pending request with the policy to decide it by.
    private typealias Item = (place: Int, policy: Result<AccessPolicy, GatewayError>)

    /// Attempts to answer all pending requests; returns whether none is left.
    ///
    /// Listings of callers with more grants than are held come last, folder after folder: the grants of a folder are
    /// read for them, may be thousands, and are dropped before the next folder.
    private func answer(_ round: inout Round, in attempt: ProofAttempt) async throws(GatewayError) -> Bool {
        let caller = attempt.caller
        let policies = try await cache.access(
            of: caller.principal, groups: caller.groups,
            to: round.pending.map { (round.bodies[$0].request.bucket, round.bodies[$0].request.key) })
        var ready: [Item] = []
        ready.reserveCapacity(policies.count)
        var folders: [Folder] = []
        var listings: [Folder: [Int]] = [:]
        for (place, policy) in zip(round.pending, policies) {
            if (try? policy.get())?.isComplete != true, let folder = Folder(of: round.bodies[place].request) {
                if listings[folder] == nil { folders.append(folder) }
                listings[folder, default: []].append(place)
            } else {
                ready.append((place, policy))
            }
        }
        await answer(ready, of: &round, in: attempt)
        for (number, folder) in folders.enumerated() {
            guard let places = listings[folder], let first = places.first else { continue }
            let policy: Result<AccessPolicy, GatewayError> =
                number < Self.maxFolders
                ? await policyOfFolder(round.bodies[first], in: attempt) : .failure(Self.tooManyFolders)
            await answer(places.map { ($0, policy) }, of: &round, in: attempt)
        }
        round.retainPending()
        return round.pending.isEmpty
    }

    /// Reads the policy for a listing, and so for all listings of its folder.
    private func policyOfFolder(
        _ body: URLBody, in attempt: ProofAttempt
    ) async -> Result<AccessPolicy, GatewayError> {
        guard .now < attempt.context.deadline else { return .failure(Self.tooLate) }
        do throws(GatewayError) {
            return .success(try await body.policy(for: attempt.caller, in: cache))
        } catch {
            return .failure(error)
        }
    }

    private static let tooManyFolders = GatewayError.invalidArgument(
        field: "prefix", reason: "A batch may list at most \(maxFolders) folders for a caller with many grants.")
    private static let tooLate = GatewayError.slowDown(
        retryAfter: 1, cause: "the deadline passed while grants of listings were read")

    /// What the grants that affect a listing depend on.
    private struct Folder: Hashable {
        let bucket: BucketName
        let prefix: ExactText

        /// The folder that a request lists; `nil` if it lists none.
        init?(of request: IssueRequest) {
            guard let listing = request.listing else { return nil }
            bucket = request.bucket
            prefix = listing.folder
        }
    }

    /// Answers requests in chunks.
    private func answer(_ items: [Item], of round: inout Round, in attempt: ProofAttempt) async {
        var rest = items[...]
        while !rest.isEmpty {
            await answer(chunk: rest.prefix(Self.chunk), of: &round, in: attempt)
            rest = rest.dropFirst(Self.chunk)
        }
    }

    /// Decides and signs each request of a chunk, then records the permitted ones together.
    private func answer(chunk: ArraySlice<Item>, of round: inout Round, in attempt: ProofAttempt) async {
        var drafts: [(place: Int, draft: Draft<URLBody.Content>)] = []
        drafts.reserveCapacity(chunk.count)
        for (order, (place, policy)) in chunk.enumerated() {
            // To sign a hundred takes a millisecond, and others go between.
            if order % Self.draftsPerTurn == Self.draftsPerTurn - 1 { await Task.yield() }
            do throws(GatewayError) {
                let draft = try await draft(round.bodies[place], under: policy.get(), in: attempt)
                if let draft { drafts.append((place, draft)) }
            } catch {
                round.answer(place, .failure(error))
            }
        }
        guard !drafts.isEmpty else { return }
        let verdicts = await record(drafts.map(\.draft.proposal), in: attempt.context)
        for ((place, draft), verdict) in zip(drafts, verdicts) {
            do throws(GatewayError) {
                let issued = try answer(round.bodies[place], draft, by: verdict.get(), in: attempt)
                if let issued { round.answer(place, .success(issued)) }
            } catch {
                round.answer(place, .failure(error))
            }
        }
    }

    /// The requests of one batch, with the answers found so far.
    private struct Round {
        let bodies: [URLBody]
        /// Indices of the requests without an answer, ascending.
        private(set) var pending: [Int]
        private var answers: [Result<IssuedURL, GatewayError>?]

        init(_ bodies: [URLBody]) {
            self.bodies = bodies
            pending = Array(bodies.indices)
            answers = Array(repeating: nil, count: bodies.count)
        }

        /// The answers, in the order of the requests.
        var results: [Result<IssuedURL, GatewayError>] {
            answers.map { $0 ?? .failure(.unanswered) }
        }

        mutating func answer(_ place: Int, _ result: Result<IssuedURL, GatewayError>) {
            answers[place] = result
        }

        /// Keeps the requests without an answer for the next attempt.
        mutating func retainPending() {
            pending.removeAll { answers[$0] != nil }
        }

        /// Answers all pending requests with one error.
        mutating func failPending(_ error: GatewayError) {
            for place in pending { answers[place] = .failure(error) }
            pending = []
        }
    }
}
