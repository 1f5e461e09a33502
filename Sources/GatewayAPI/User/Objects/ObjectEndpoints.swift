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
        let issued = try await useCase.issue(Self.wish(fields), in: request.context(of: caller))
        var response = ServerResponse(
            head: ResponseHead(
                status: .seeOther,
                headerFields: [
                    .location: issued.url.reveal(),
                    // A client that follows a cached redirect late must still find the URL valid.
                    .cacheControl: "private, max-age=\(max(0, issued.expiresIn - 60))",
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

    /// Checks what is asked for. The file name is a parameter here.
    private static func wish(_ fields: IssueRequest.Fields) throws(GatewayError) -> IssueRequest {
        do throws(GatewayError) {
            return try IssueRequest(fields, delivery: .redirect)
        } catch {
            guard case .invalidArgument("response.filename", let reason) = error else { throw error }
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
