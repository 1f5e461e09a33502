import HTTPServing
import HTTPTypes

/// The rules for browser access from pages of other origins (WHATWG Fetch, CORS protocol).
struct StoreOrigins: Sendable {
    private static let methods = ["PUT", "GET", "HEAD", "POST", "DELETE"]

    private let allowedOrigins: [String]?

    /// Allows the given origins, or all origins if `nil`.
    init(_ allowedOrigins: [String]?) {
        self.allowedOrigins = allowedOrigins
    }

    /// Answers a preflight request, which a browser sends before the actual request.
    ///
    /// - Throws: ``StoreError``, like S3, if this is not a preflight request or the origin or method is not allowed.
    func preflight(_ head: RequestHead) throws(StoreError) -> ServerResponse {
        guard let origin = head.headerFields[.origin], let method = head.headerFields[.accessControlRequestMethod]
        else {
            throw StoreError(.badRequest, "BadRequest", "Insufficient information. Origin request header needed.")
        }
        guard isAllowed(origin), Self.methods.contains(method) else {
            throw StoreError(.forbidden, "AccessForbidden", "CORSResponse: This CORS request is not allowed.")
        }
        var fields: HeaderFields = [
            .accessControlAllowMethods: Self.methods.joined(separator: ", "), .accessControlMaxAge: "600",
        ]
        fields[.accessControlAllowHeaders] = head.headerFields[.accessControlRequestHeaders]
        return ServerResponse(head: ResponseHead(status: .ok, headerFields: fields))
    }

    /// Adds the headers that let a page of an allowed origin read the answer.
    func complete(_ response: inout ResponseHead, for request: RequestHead) {
        guard let origin = request.headerFields[.origin] else { return }
        response.headerFields.append(.vary, "Origin")
        guard isAllowed(origin) else { return }
        response.headerFields[.accessControlAllowOrigin] = allowedOrigins == nil ? "*" : origin
        let names = response.headerFields.map(\.name.canonicalName).filter {
            $0.hasPrefix("x-amz-") || $0.hasPrefix("x-oss-")
        }
        let exposed = ["ETag", "Content-Length", "Content-Encoding", "Content-Range", "Content-Disposition"] + names
        response.headerFields[.accessControlExposeHeaders] = exposed.joined(separator: ", ")
    }

    private func isAllowed(_ origin: String) -> Bool {
        allowedOrigins?.contains(origin) ?? true
    }
}
