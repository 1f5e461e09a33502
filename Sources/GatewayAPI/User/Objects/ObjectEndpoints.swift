import GatewayCore
import HTTPServing
import HTTPTypes

/// `GET /v1/objects/{bucket}/{key}`: redirects to a presigned URL.
struct ObjectEndpoints: Sendable {
    let useCase: PresignedURLs

    /// Redirects to a presigned GET, or to a presigned HEAD for a `HEAD` request.
    @Sendable func redirect(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery(["download", "endpoint", "ticket", "versionID"])
        let fields = IssueRequest.Fields(
            redirectTo: try Self.key(of: request), in: request.parameter(0), method: request.method.rawValue,
            versionID: try request.query("versionID"), endpoint: try request.query("endpoint"),
            download: try request.query("download"))
        let issued = try await issue(fields, in: request.context(of: caller))
        var response = ServerResponse(
            head: ResponseHead(
                status: .seeOther,
                headerFields: [
                    .location: issued.url.reveal(),
                    .cacheControl: Self.cacheControl(of: issued),
                    .vary: "Authorization",
                    .referrerPolicy: "no-referrer",
                    .contentType: "text/plain; charset=utf-8",
                ]
            ),
            body: .bytes(Array("See Location.\n".utf8))
        )
        response.setRateLimit(issued.quotas)
        return response
    }

    /// For how long a client may follow the redirect again. It must find the URL valid then, also if its address has
    /// changed meanwhile.
    private static func cacheControl(of issued: IssuedURL) -> String {
        issued.isBoundToAddress ? "private, no-cache" : "private, max-age=\(max(0, issued.expiresIn - 60))"
    }

    /// Issues the URL. Errors name what the client sent: the file name is a parameter here, and all that there is of
    /// `response`.
    private func issue(
        _ fields: IssueRequest.Fields, in context: RequestContext
    ) async throws(GatewayError) -> IssuedURL {
        do throws(GatewayError) {
            return try await useCase.issue(IssueRequest(fields, delivery: .redirect), in: context)
        } catch .invalidArgument("response", let reason), .invalidArgument("response.filename", let reason) {
            throw .invalidArgument(field: "download", reason: reason)
        }
    }

    /// Reads the object key: the segments after the bucket, decoded once. An escaped `/` is refused: it may arrive
    /// escaped, or as the plain `/` that an intermediary made of it. To a store these are two different keys.
    private static func key(of request: APIRequest) throws(GatewayError) -> String {
        guard let segments = request.match.target?.segments.dropFirst(3),
            !segments.contains(where: { $0.utf8.contains(UInt8(ascii: "/")) })
        else { throw .invalidArgument(field: "key", reason: "The slashes of the key must not be escaped.") }
        return segments.joined(separator: "/")
    }
}
