import GatewayCore
import HTTPServing
import HTTPTypes
import LibCrypto
import Logging

/// Answers a `POST` with an `Idempotency-Key` once: the same request of the same caller with the same key takes effect once
/// within 24 hours, and gets the same answer as often as it is sent. A refusal is not kept: the request may be tried again.
struct Idempotency: Sendable {
    /// Longest key in bytes.
    static let maxKeyBytes = 255

    let store: any IdempotencyStore
    let logger: Logger

    /// Answers a request that has the header field.
    func answer(
        _ request: APIRequest, from caller: Caller, on route: Route,
        _ endpoint: @Sendable (APIRequest, Caller) async throws -> ServerResponse
    ) async throws -> ServerResponse {
        let state = try await store.begin(try Self.digested(request, from: caller, on: route))
        switch (state, route.repetition) {
        case (.answered(_, let answer?), .kept):
            guard let kept = KeptAnswer(bytes: answer) else { throw GatewayError.idempotency(.answerGone) }
            return kept.response.replayed
        case (.answered, .kept): throw GatewayError.idempotency(.answerGone)
        case (.interrupted(let claim), .kept):
            // It stays as it is, for whoever asks next.
            try? await store.abandon(claim)
            throw GatewayError.idempotency(.answerGone)
        case (.answered(let claim, _), .issuedAgain):
            return replayed(try await endpoint(claimed(request, by: claim), caller), by: claim)
        case (.fresh(let claim), _), (.interrupted(let claim), .issuedAgain):
            return replayed(
                try await act(for: claim, claimed(request, by: claim), caller, on: route, endpoint), by: claim)
        }
    }

    private func claimed(_ request: APIRequest, by claim: IdempotencyClaim) -> APIRequest {
        request.claimed(claim, RepeatableIssuing(claim, ledger: store.ledger(for: claim)))
    }

    private func replayed(_ response: ServerResponse, by claim: IdempotencyClaim) -> ServerResponse {
        claim.issuances.isEmpty ? response : response.replayed
    }

    private func act(
        for claim: IdempotencyClaim, _ request: APIRequest, _ caller: Caller, on route: Route,
        _ endpoint: @Sendable (APIRequest, Caller) async throws -> ServerResponse
    ) async throws -> ServerResponse {
        let response: ServerResponse
        do {
            response = try await endpoint(request, caller)
        } catch {
            await end(claim, of: request) { () throws(GatewayError) in try await store.abandon(claim) }
            throw error
        }
        await end(claim, of: request) { () throws(GatewayError) in
            guard 200..<300 ~= response.head.status.code else { return try await store.abandon(claim) }
            try await store.finish(claim, answer: route.repetition == .kept ? KeptAnswer(response)?.bytes : nil)
        }
        return response
    }

    /// What cannot be written down changes nothing for this answer: the next request finds out what came of it.
    private func end(
        _ claim: IdempotencyClaim, of request: APIRequest, _ body: () async throws(GatewayError) -> Void
    ) async {
        do throws(GatewayError) {
            try await body()
        } catch {
            logger.warning(
                "an idempotency key is not ended",
                metadata: ["request.id": "\(request.id)", "claim": "\(claim.id)", "code": "\(error.code)"])
        }
    }

    /// Digests of what tells requests apart. Bodies are compared byte by byte.
    private static func digested(
        _ request: APIRequest, from caller: Caller, on route: Route
    ) throws(GatewayError) -> IdempotentRequest {
        let key = try key(in: request.headers)
        guard case .collect = route.bodyPlan, case .collected(let body) = request.body else {
            throw invalid("What this operation takes is too long to be compared; send it without a key.")
        }
        let target = (request.target?.rawPath ?? "") + "?" + (request.target?.rawQuery ?? "")
        return IdempotentRequest(
            caller: caller.principal, route: "\(request.method.rawValue) \(route.template)",
            keyDigest: DigestAlgorithm.sha256.digest(of: key).bytes,
            bodyDigest: DigestAlgorithm.sha256.digest(of: Array("\(key)\n\(target)\n".utf8) + body).bytes)
    }

    private static func key(in headers: HeaderFields) throws(GatewayError) -> String {
        let values = headers[values: .idempotencyKey]
        guard values.count == 1, let key = values.first, 1...maxKeyBytes ~= key.utf8.count,
            key.utf8.allSatisfy({ 0x21...0x7e ~= $0 })
        else { throw invalid("A key is 1 to \(maxKeyBytes) visible ASCII characters, and stands there once.") }
        return key
    }

    private static func invalid(_ reason: String) -> GatewayError {
        .invalidArgument(field: HTTPField.Name.idempotencyKey.rawName, reason: reason)
    }
}

extension ServerResponse {
    /// The same answer, said to be one that was given before.
    fileprivate var replayed: ServerResponse {
        var response = self
        response.head.headerFields[.idempotencyReplayed] = "true"
        return response
    }
}
