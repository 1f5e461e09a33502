import HTTPServing
import HTTPTypes

/// The step that lets browsers of configured origins read the answers for app users (Fetch standard, "CORS protocol").
/// It never allows credentials in the browser's sense: tokens travel in `Authorization`, which the page itself sets.
struct CrossOrigin: Sendable {
    /// Allowed origins as `scheme://host[:port]`, or `*` for any.
    let allowedOrigins: Set<String>

    /// Adds the header fields that the browser looks for.
    func allow(
        _ response: inout ServerResponse, to method: HTTPRequest.Method, _ headers: HeaderFields, _ match: RouteMatch
    ) {
        guard !allowedOrigins.isEmpty, let path = match.crossOriginPath else { return }
        if allowedOrigins.contains("*") {
            // Also without an origin: a browser that fetched a redirect for an image may take it for a script later.
            response.head.headerFields[.accessControlAllowOrigin] = "*"
        } else {
            let others = response.head.headerFields[.vary].map { $0 + ", " } ?? ""
            response.head.headerFields[.vary] = others + "Origin"
            guard let origin = headers[.origin], allowedOrigins.contains(origin) else { return }
            response.head.headerFields[.accessControlAllowOrigin] = origin
        }
        if method == .options, headers[.accessControlRequestMethod] != nil {
            let methods = path.allowedMethods.map(\.rawValue).joined(separator: ", ")
            response.head.headerFields[.accessControlAllowMethods] = methods
            response.head.headerFields[.accessControlAllowHeaders] =
                path.template.utf8.starts(with: "/companion/".utf8)
                ? "Authorization, Content-Type, Sluice-Bucket, Sluice-Prefix, traceparent, tracestate"
                : "Authorization, Content-Type, Idempotency-Key, If-Match, traceparent, tracestate"
            response.head.headerFields[.accessControlMaxAge] = "7200"
        } else {
            response.head.headerFields[.accessControlExposeHeaders] =
                """
                ETag, Idempotency-Replayed, Location, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id
                """
        }
    }
}

extension RouteMatch {
    /// The path, where browsers may use it.
    fileprivate var crossOriginPath: Router.Path? {
        guard let path,
            ["/v1/", "/companion/"].contains(where: { path.template.utf8.starts(with: $0.utf8) })
        else { return nil }
        return path
    }
}
