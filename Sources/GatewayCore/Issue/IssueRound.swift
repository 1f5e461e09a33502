import Foundation

/// Requests of one caller on their way to their answers together.
struct IssueRound {
    let requests: [IssueRequest]
    /// Who asks, as last authenticated.
    var caller: Caller
    let sourceAddress: IPAddress?
    let requestID: String
    let deadline: ContinuousClock.Instant
    /// Places of the requests without an answer, ascending.
    private(set) var pending: [Int]
    /// Whether policy was read since the requests came, so that a refusal is final.
    var isConfirmed = false
    private var answers: [Result<IssuedURL, GatewayError>?]

    init(
        requests: [IssueRequest], caller: Caller, sourceAddress: IPAddress?, requestID: String,
        deadline: ContinuousClock.Instant
    ) {
        self.requests = requests
        self.caller = caller
        self.sourceAddress = sourceAddress
        self.requestID = requestID
        self.deadline = deadline
        pending = Array(requests.indices)
        answers = Array(repeating: nil, count: requests.count)
    }

    /// The answers, in the order of the requests.
    var results: [Result<IssuedURL, GatewayError>] {
        answers.map { $0 ?? .failure(.unavailable(retryAfter: 1)) }
    }

    /// Answers a request.
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

extension PresignedURLs {
    /// Requests that are recorded together. More would gain nothing, and would fill the queue that everybody waits in.
    private static let chunk = 128

    /// The place of a request, and what bears on it.
    private typealias Asked = (place: Int, policy: Result<AccessPolicy, GatewayError>)

    /// One attempt at everything that is pending.
    func run(_ round: inout IssueRound) async {
        do throws(GatewayError) {
            let policies = try await cache.access(
                of: round.caller.principal, groups: round.caller.groups,
                to: round.pending.map { (round.requests[$0].bucket, round.requests[$0].key) })
            var rest = zip(round.pending, policies).map { (place: $0, policy: $1) }[...]
            while !rest.isEmpty {
                await run(rest.prefix(Self.chunk), of: &round)
                rest = rest.dropFirst(Self.chunk)
            }
            round.retainPending()
        } catch {
            round.failPending(error)
        }
    }

    /// Decides, signs, and records what is permitted together.
    private func run(_ asked: ArraySlice<Asked>, of round: inout IssueRound) async {
        let prepared = prepare(asked, of: &round)
        guard !prepared.isEmpty else { return }
        let verdicts = await ledger.record(prepared.map(\.issuance.proposal), deadline: round.deadline)
        for ((place, issuance), verdict) in zip(prepared, verdicts) {
            do throws(GatewayError) {
                guard let issued = try answer(issuance, by: verdict.get(), for: round.caller) else { continue }
                round.answer(place, .success(issued))
            } catch {
                round.answer(place, .failure(error))
            }
        }
    }

    private func prepare(
        _ asked: ArraySlice<Asked>, of round: inout IssueRound
    ) -> [(place: Int, issuance: Issuance)] {
        var prepared: [(place: Int, issuance: Issuance)] = []
        prepared.reserveCapacity(asked.count)
        for (place, policy) in asked {
            do throws(GatewayError) {
                let issuance = try prepare(
                    round.requests[place], for: round.caller, under: policy.get(), from: round.sourceAddress,
                    requestID: round.requestID, isConfirmed: round.isConfirmed)
                if let issuance { prepared.append((place, issuance)) }
            } catch {
                round.answer(place, .failure(error))
            }
        }
        return prepared
    }
}
