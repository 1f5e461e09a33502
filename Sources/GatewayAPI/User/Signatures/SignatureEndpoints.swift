import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `POST /v1/signatures/…`: signatures for requests that clients build themselves.
struct SignatureEndpoints: Sendable {
    let useCase: RemoteSignatures

    /// `POST /v1/signatures/oss`.
    @Sendable func signForOSS(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try await sign(.oss, request, caller)
    }

    /// `POST /v1/signatures/aws-v2`.
    @Sendable func signForAWSV2(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try await sign(.awsV2, request, caller)
    }

    private func sign(
        _ scheme: RemoteSignatures.Scheme, _ request: APIRequest, _ caller: Caller
    ) async throws -> ServerResponse {
        try request.allowQuery([])
        var body = try request.jsonObject()
        let content = try body.required("content", body.string("content"))
        let canonicalRequest = try body.string("canonicalRequest")
        try body.end()
        let string = try RemoteString(content, canonicalRequest: canonicalRequest, scheme: scheme)
        let signed = try await useCase.sign(string, scheme: scheme, in: request.context(of: caller))
        var response = Self.wantsText(request.headers) ? Self.text(signed) : .json(.created) { signed.write(to: &$0) }
        response.setRateLimit(signed.quotas)
        return response
    }

    /// Makes the answer with the bare value. It has no line break, as SDKs use the body unchanged.
    private static func text(_ signed: RemoteSignature) -> ServerResponse {
        let value = signed.authorization ?? signed.signature
        return ServerResponse(
            head: ResponseHead(
                status: .created, headerFields: [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"]),
            body: .bytes(Array(value.reveal().utf8)))
    }

    private static func wantsText(_ headers: HeaderFields) -> Bool {
        headers[values: .accept].joined(separator: ",").split(separator: ",").contains { range in
            range.prefix { $0 != ";" }.trimming { $0 == " " || $0 == "\t" }.lowercased() == "text/plain"
        }
    }
}

extension RemoteSignature {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("accessKeyID", accessKeyID)
        json.member("authorization", authorization?.reveal())
        json.member("signature", signature.reveal())
        json.member("expiresAt", expiresAt)
    }
}
