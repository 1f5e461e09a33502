import Bytes
import GatewayCore
import HTTPServing
import HTTPTypes
import LibCrypto
import Logging
import StrictJSON

/// The step that lets a `POST` with an `Idempotency-Key` take effect only once. For 24 hours, the same request of the
/// same caller with the same key gets the same answer. A refusal is not kept: the request may be tried again.
///
/// The route decides how its answer is repeated. An endpoint only passes on two values of the request. A change marks
/// ``APIRequest/claim`` in its transaction (`Caller.change(in:)`). With ``APIRequest/repeatable``, use cases issue the
/// same identifiers again.
final class Idempotency: Sendable {
    /// Longest key, in bytes.
    static let maxKeyBytes = 255
    /// Time for a claim to be committed whose request was cancelled meanwhile. If it is not enough, the claim may be
    /// committed all the same; it soon expires by itself.
    private static let patience = Duration.seconds(5)

    private let store: any IdempotencyStore
    private let logger: Logger

    init(_ store: any IdempotencyStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Whether the step applies to a request. Other requests go straight to their endpoint.
    static func concerns(_ request: APIRequest) -> Bool {
        request.method == .post && request.headers.contains(.idempotencyKey) && request.route.clientProtocol == nil
    }

    /// Whether an answer to a request may have been kept, which nothing proves again before it is handed out.
    static func mayHaveKept(_ request: APIRequest) -> Bool {
        request.route.repetition == .kept && concerns(request)
    }

    /// Answers a request with a key.
    func answer(
        _ request: APIRequest, from caller: Caller,
        _ endpoint: @Sendable (APIRequest, Caller) async throws -> ServerResponse
    ) async throws -> ServerResponse {
        switch (try await begin(request, from: caller), request.route.repetition) {
        case (.answered(_, let answer?), .kept):
            guard let kept = KeptAnswer(bytes: answer) else { throw GatewayError.idempotency(.answerGone) }
            return kept.response.replayed
        case (.answered, .kept): throw GatewayError.idempotency(.answerGone)
        case (.interrupted(let claim), .kept):
            // The row stays interrupted, for the next request.
            await end(claim, of: request) { [store] () throws(GatewayError) in try await store.abandon(claim) }
            throw GatewayError.idempotency(.answerGone)
        case (.answered(let claim, _), .issuedAgain):
            let request = claimed(request, by: claim)
            return replayed(try await endpoint(request, caller), to: request, by: claim)
        case (.fresh(let claim), _), (.interrupted(let claim), .issuedAgain):
            let request = claimed(request, by: claim)
            return replayed(try await act(for: claim, request, caller, endpoint), to: request, by: claim)
        }
    }

    /// Claims the key. If the request is cancelled meanwhile, its claim is known nevertheless, and given up at once:
    /// otherwise the client that tries again would have to wait until it expires.
    private func begin(_ request: APIRequest, from caller: Caller) async throws -> IdempotencyState {
        let digested = try Self.digested(request, from: caller)
        try Task.checkCancellation()
        let state = try await toTheEnd(within: Self.patience) {
            [store] () async throws(GatewayError) -> IdempotencyState in
            try await store.begin(digested)
        }
        guard Task.isCancelled else { return state }
        switch state {
        case .fresh(let claim), .interrupted(let claim):
            await end(claim, of: request) { [store] () throws(GatewayError) in try await store.abandon(claim) }
        case .answered: break
        }
        throw CancellationError()
    }

    private func claimed(_ request: APIRequest, by claim: IdempotencyClaim) -> APIRequest {
        request.claimed(claim, RepeatableIssuing(claim, ledger: store.ledger(for: claim)))
    }

    private func replayed(
        _ response: ServerResponse, to request: APIRequest, by claim: IdempotencyClaim
    ) -> ServerResponse {
        claim.issuances.isEmpty || request.repeatable?.issuesAnother == true ? response : response.replayed
    }

    private func act(
        for claim: IdempotencyClaim, _ request: APIRequest, _ caller: Caller,
        _ endpoint: @Sendable (APIRequest, Caller) async throws -> ServerResponse
    ) async throws -> ServerResponse {
        let response: ServerResponse
        do {
            response = try await endpoint(request, caller)
        } catch {
            await end(claim, of: request) { [store] () throws(GatewayError) in try await store.abandon(claim) }
            throw error
        }
        await end(claim, of: request) { [store] () throws(GatewayError) in
            guard 200..<300 ~= response.head.status.code else { return try await store.abandon(claim) }
            try await store.finish(
                claim, answer: request.route.repetition == .kept ? KeptAnswer(response)?.bytes : nil)
        }
        return response
    }

    /// Ends a claim, even if the request was cancelled: its client repeats it, and needs the answer, or the key. A
    /// failure does not change this answer: the next request with the key finds out how this one ended.
    private func end(
        _ claim: IdempotencyClaim, of request: APIRequest,
        _ body: @escaping @Sendable () async throws(GatewayError) -> Void
    ) async {
        await toTheEnd { [logger] in
            do throws(GatewayError) {
                try await body()
            } catch {
                logger.warning(
                    "an idempotency key is not ended",
                    metadata: ["request.id": "\(request.id)", "claim": "\(claim.id)", "code": "\(error.code)"])
            }
        }
    }

    /// Computes digests of the parts that tell requests apart. Bodies are compared byte by byte.
    private static func digested(
        _ request: APIRequest, from caller: Caller
    ) throws(GatewayError) -> IdempotentRequest {
        let key = try key(in: request.headers)
        let route = request.route
        guard case .collect = route.bodyPlan, case .collected(let body) = request.body else {
            throw invalid("The body of this operation is too long to be compared; send it without a key.")
        }
        // Another credential of the same principal, which may do less, must not get an answer that is kept.
        var scopes = JSONWriter()
        scopes.object { json in
            json.adminScopes(request.reach(of: caller).scopes)
            if route.repetition == .kept { json.identity(of: caller) }
        }
        let target = (request.match.target?.rawPath ?? "") + "?" + (request.match.target?.rawQuery ?? "")
        let revision = request.headers[values: .ifMatch].joined(separator: ", ")
        return IdempotentRequest(
            caller: caller.principal, route: "\(request.method.rawValue) \(route.template)",
            keyDigest: DigestAlgorithm.sha256.digest(of: key).bytes,
            bodyDigest: DigestAlgorithm.sha256.digest(
                of: Array("\(key)\n\(target)\n\(revision)\n".utf8) + scopes.bytes + body
            ).bytes
        )
    }

    private static func key(in headers: HeaderFields) throws(GatewayError) -> String {
        let values = headers[values: .idempotencyKey]
        guard values.count == 1, let key = values.first, key.consists(of: .visible, count: 1...maxKeyBytes)
        else { throw invalid("Send one key of 1 to \(maxKeyBytes) visible ASCII characters.") }
        return key
    }

    private static func invalid(_ reason: String) -> GatewayError {
        .invalidArgument(field: HTTPField.Name.idempotencyKey.rawName, reason: reason)
    }
}

extension JSONWriter {
    /// Writes who a caller is beside its principal: its groups and claims, each in one order.
    fileprivate mutating func identity(of caller: Caller) {
        if !caller.groups.isEmpty { member("groups", caller.groups.map(\.rawValue).sorted()) }
        if !caller.claims.isEmpty {
            member("claims", caller.claims.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] })
        }
    }
}

extension ServerResponse {
    /// The same answer, marked as a repetition.
    fileprivate var replayed: ServerResponse {
        var response = self
        response.head.headerFields[.idempotencyReplayed] = "true"
        return response
    }
}
