extension ProvenIssuing {
    /// Requests that are recorded together. More would gain nothing, and would fill the queue in which everybody waits.
    private static let chunk = 128

    /// Issues URLs, each for itself, and records them together.
    ///
    /// - Returns: For each request, in their order, what ``issue(_:in:)`` would give for it alone.
    func issue(_ bodies: [URLBody], in context: RequestContext) async -> [Result<IssuedURL, GatewayError>] {
        var round = Round(bodies)
        do throws(GatewayError) {
            try await untilProved(ProofAttempt(context)) { attempt throws(GatewayError) -> Void? in
                try await self.answer(&round, in: attempt) ? () : nil
            }
        } catch {
            round.failPending(error)
        }
        return round.results
    }

    /// One attempt at everything that is pending; returns whether nothing is left.
    private func answer(_ round: inout Round, in attempt: ProofAttempt) async throws(GatewayError) -> Bool {
        let policies = try await cache.access(
            of: attempt.caller.principal, groups: attempt.caller.groups,
            to: round.pending.map { (round.bodies[$0].request.bucket, round.bodies[$0].request.key) })
        var rest = zip(round.pending, policies).map { (place: $0, policy: $1) }[...]
        while !rest.isEmpty {
            await answer(rest.prefix(Self.chunk), of: &round, in: attempt)
            rest = rest.dropFirst(Self.chunk)
        }
        round.retainPending()
        return round.pending.isEmpty
    }

    /// Decides, signs, and records what is permitted together.
    private func answer(
        _ chunk: ArraySlice<(place: Int, policy: Result<AccessPolicy, GatewayError>)>, of round: inout Round,
        in attempt: ProofAttempt
    ) async {
        var drafts: [(place: Int, draft: Draft<URLBody.Content>)] = []
        drafts.reserveCapacity(chunk.count)
        for (place, policy) in chunk {
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
                let issued = try answer(round.bodies[place], draft, by: verdict.get(), to: attempt.caller)
                if let issued { round.answer(place, .success(issued)) }
            } catch {
                round.answer(place, .failure(error))
            }
        }
    }

    /// Requests on their way to their answers together.
    private struct Round {
        let bodies: [URLBody]
        /// Places of the requests without an answer, ascending.
        private(set) var pending: [Int]
        private var answers: [Result<IssuedURL, GatewayError>?]

        init(_ bodies: [URLBody]) {
            self.bodies = bodies
            pending = Array(bodies.indices)
            answers = Array(repeating: nil, count: bodies.count)
        }

        /// The answers, in the order of the requests.
        var results: [Result<IssuedURL, GatewayError>] {
            answers.map { $0 ?? .failure(.unavailable(retryAfter: 1, cause: "an item has no answer")) }
        }

        mutating func answer(_ place: Int, _ result: Result<IssuedURL, GatewayError>) {
            answers[place] = result
        }

        /// Leaves those for the next attempt that are without an answer.
        mutating func retainPending() {
            pending.removeAll { answers[$0] != nil }
        }

        /// Answers all that is pending with one error.
        mutating func failPending(_ error: GatewayError) {
            for place in pending { answers[place] = .failure(error) }
            pending = []
        }
    }
}
