import Foundation
import HTTPServing
import HTTPTesting
import HTTPTypes
import Signing
import Synchronization

/// A store that keeps one object, accepts every signature, and misbehaves as the test sets.
final class ProbedStore: Sendable {
    /// Answers that replace the proper ones, by method.
    let answers: [HTTPRequest.Method: ServerResponse]
    /// Header fields of every answer.
    let fields: HeaderFields
    /// Whether it obeys unsigned headers, and compares no checksum.
    let isLenient: Bool
    /// Seconds by which the times of its objects are ahead of its answers' `Date`.
    let modifiedAhead: TimeInterval
    /// The answer to who may read the object.
    let accessList: ServerResponse
    /// Whether it takes no upload without an MD5.
    let demandsMD5: Bool
    /// The headers that pages may send; `nil` for all.
    let pageHeaders: Set<String>?
    private let isThere = Mutex(false)

    init(
        _ answers: [HTTPRequest.Method: ServerResponse] = [:], fields: HeaderFields = [:], isLenient: Bool = false,
        modifiedAhead: TimeInterval = 0,
        accessList: ServerResponse = .bytes("<URI>http://acs.amazonaws.com/groups/global/AllUsers</URI>"),
        demandsMD5: Bool = false, pageHeaders: Set<String>? = nil
    ) {
        self.demandsMD5 = demandsMD5
        self.pageHeaders = pageHeaders
        self.accessList = accessList
        self.isLenient = isLenient
        self.modifiedAhead = modifiedAhead
        self.answers = answers
        self.fields = fields
    }

    var holdsObject: Bool { isThere.withLock { $0 } }

    func answer(_ request: RequestHead, _ body: @autoclosure () -> [UInt8]) -> ServerResponse {
        var response = answers[request.method] ?? usual(request, body())
        for field in fields { response.head.headerFields.append(field.name, field.value) }
        return response
    }

    private func usual(_ request: RequestHead, _ body: [UInt8]) -> ServerResponse {
        let isThere = isThere.withLock { $0 }
        switch request.method {
        case .put where demandsMD5 && !Self.hasField("content-md5", request):
            return .error("InvalidRequest", 400)
        case .put where !isLenient && Self.isUnsigned(request):
            return .error("AccessDenied", 403)
        case .put where !isLenient && Self.hasField("x-amz-checksum-sha256", request):
            return .error("BadDigest", 400)
        case .put where isLenient && Self.hasField("x-delete-at", request):
            return .error("InvalidArgument", 400)
        case .get where isLenient && request.target.contains("acl="):
            return accessList
        case .put:
            self.isThere.withLock { $0 = true }
            return .bytes("")
        case .get: return ServerResponse(head: ResponseHead(status: isThere ? .ok : .notFound), body: .bytes(body))
        case .head:
            let isPage = isLenient && request.target.contains(".html?")
            let modifiedAt = Int64(Date().addingTimeInterval(modifiedAhead).timeIntervalSince1970)
            let fields: HeaderFields = [
                .contentType: isPage ? "text/html" : "application/octet-stream",
                .lastModified: SigningInstant(clampingEpochSeconds: modifiedAt).httpDate,
            ]
            return ServerResponse(
                head: ResponseHead(status: isThere ? .ok : .notFound, headerFields: fields),
                body: .bytes(isThere ? body : []))
        case .delete:
            self.isThere.withLock { $0 = false }
            return .bytes("", status: .noContent)
        default:
            let origin = request.headerFields[.origin] ?? ""
            let asked = request.headerFields[.accessControlRequestHeaders] ?? ""
            let names = asked.split(separator: ",").map(String.init)
            guard pageHeaders?.isSuperset(of: names) ?? true else { return .error("AccessForbidden", 403) }
            let fields: HeaderFields = [
                .accessControlAllowOrigin: origin, .accessControlAllowMethods: "GET, PUT",
                .accessControlAllowHeaders: asked.uppercased(),
            ]
            return ServerResponse(head: ResponseHead(status: .ok, headerFields: fields))
        }
    }
}

extension ProbedStore {
    private static func isUnsigned(_ request: RequestHead) -> Bool {
        ["x-amz-acl", "x-amz-copy-source"].contains { name in
            hasField(name, request) && !request.target.contains(name)
        }
    }

    private static func hasField(_ name: String, _ request: RequestHead) -> Bool {
        HTTPField.Name(name).map { request.headerFields[$0] != nil } ?? false
    }
}

extension ServerResponse {
    static func error(_ code: String, _ status: Int) -> ServerResponse {
        .bytes(
            "<Error><Code>\(code)</Code><Message>secret words of the store</Message></Error>",
            status: .init(code: status))
    }
}
