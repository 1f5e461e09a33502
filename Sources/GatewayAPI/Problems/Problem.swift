import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// An answer that describes an error, in the form of RFC 9457.
struct Problem: Sendable {
    let kind: ProblemKind
    var code: String
    /// Describes what a caller can do about the error; `nil` where nothing may be said about it.
    var detail: String?
    /// Further members of the body.
    var members: [(name: String, value: JSONValue)] = []
    /// Further header fields.
    var headers = HeaderFields()

    init(kind: ProblemKind, detail: String? = nil) {
        self.kind = kind
        self.code = kind.code
        self.detail = detail
    }

    /// Makes the answer.
    func response(requestID: String) -> ServerResponse {
        var json = JSONWriter()
        write(to: &json, requestID: requestID)
        var head = ResponseHead(status: kind.status, headerFields: headers)
        head.headerFields[.contentType] = "application/problem+json"
        head.headerFields[.cacheControl] = "no-store"
        return ServerResponse(head: head, body: .bytes(json.bytes))
    }

    /// Writes the problem as one object.
    ///
    /// - Parameter requestID: Identifier of the request; `nil` for a problem within an answer that is not itself one.
    func write(to json: inout JSONWriter, requestID: String?) {
        json.object { json in
            json.member("type", kind.type)
            json.member("title", kind.title)
            json.member("status", kind.status.code)
            json.member("detail", detail)
            json.member("code", code)
            json.member("requestID", requestID)
            for member in members {
                json.name(member.name)
                json.value(member.value)
            }
        }
    }

    /// Gives an answer of another form the header fields of this one.
    func addHeaders(to response: inout ServerResponse) {
        for field in headers { response.head.headerFields[field.name] = field.value }
    }

    fileprivate mutating func setRetryAfter(_ seconds: Int) {
        headers[.retryAfter] = String(max(1, seconds))
    }
}

extension Problem {
    /// Makes the problem of an error of the gateway.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - reader: Who reads it. `Cause.detail(for:)` decides what the reader learns of a failure's cause.
    init(_ error: GatewayError, for reader: Cause.Reader = .user) {
        switch error {
        case .invalidArgument(let field, let reason):
            self.init(kind: .invalidArgument, detail: reason)
            members = [("field", .string(field))]
        case .unauthenticated(let reason, _):
            self.init(kind: .unauthenticated, detail: reason)
            headers[.wwwAuthenticate] = #"Bearer realm="sluice""#
        case .credentialExpired(let cause):
            self.init(kind: .expiredToken, detail: cause.advice ?? "The credential has expired; fetch a new one.")
            headers[.wwwAuthenticate] = #"Bearer realm="sluice", error="invalid_token""#
        case .accessDenied:
            self.init(kind: .accessDenied)
        case .conditionFailed(let failure):
            self.init(failure)
        case .roleRequired(let role):
            self.init(kind: .roleRequired, detail: "This operation needs the role '\(role)'.")
        case .outsideAdminScope:
            self.init(
                kind: .outsideAdminScope,
                detail:
                    "Your role is limited to scopes, and this lies outside of them; 'GET /admin/v1/caller' lists them."
            )
        case .entityTooLarge(let maxBytes):
            self.init(kind: .entityTooLarge, detail: "At most \(maxBytes) bytes are allowed.")
            members = [("maxBytes", .number(String(maxBytes)))]
        case .notEnforceable(let reason):
            self.init(kind: .notEnforceable, detail: reason)
        case .quotaExceeded(let refusal):
            self.init(refusal)
        case .notFound:
            self.init(kind: .notFound)
        case .alreadyExists(let resource, let id):
            self.init(resource, existing: id)
        case .conflict(let reason):
            self.init(kind: .conflict, detail: reason)
        case .storeRefused(let status, let code):
            self.init(
                kind: .storeRefused,
                detail: "The store refused the request: it answered \(status) \(code ?? "without a code").")
            members = [("storeStatus", .number(String(status)))]
            if let code { members.append(("storeCode", .string(code))) }
        case .preconditionFailed:
            self.init(
                kind: .preconditionFailed,
                detail: "The row has changed since you read it. Read it again and repeat the change.")
        case .itemsRefused(let first, let more):
            self.init(refusing: [first] + more, as: Problem(first.error))
        case .idempotency(let refusal):
            self.init(refusal)
        case .unproven:
            self.init(kind: .internalError, detail: error.cause?.detail(for: reader))
        case .slowDown(let seconds, let cause):
            self.init(kind: .slowDown, detail: cause.detail(for: reader))
            setRetryAfter(seconds)
        case .staleCaller:
            self.init(kind: .slowDown, detail: error.cause?.detail(for: reader))
            setRetryAfter(1)
        case .unavailable(let seconds, let cause):
            self.init(kind: .unavailable, detail: cause.detail(for: reader))
            setRetryAfter(seconds)
        case .clockDiffers(let seconds):
            self.init(
                kind: .unavailable,
                detail: "The clocks of the gateway and its database differ; "
                    + "the gateway issues nothing until they agree.")
            setRetryAfter(seconds)
        }
        code = error.code
    }

    /// Makes the problem of the first refused item, and lists all refused items.
    private init(refusing items: [ItemRefusal], as first: Problem) {
        self = first
        members = [("errors", .array(items.map(Self.description)))]
        if case .line(let line) = items.first?.place {
            members.append(("line", .number(String(line))))
            if let field = first.members.first(where: { $0.name == "field" }) { members.append(field) }
        }
    }

    private static func description(of item: ItemRefusal) -> JSONValue {
        let problem = Problem(item.error)
        var members: [JSONValue.Member] =
            switch item.place {
            case .item(let array, let index):
                [.init(name: "array", value: .string(array)), .init(name: "index", value: .number(String(index)))]
            case .line(let line): [.init(name: "line", value: .number(String(line)))]
            }
        members.append(.init(name: "code", value: .string(problem.code)))
        if let detail = problem.detail { members.append(.init(name: "detail", value: .string(detail))) }
        for member in problem.members where ["field", "existingID"].contains(member.name) {
            members.append(.init(name: member.name, value: member.value))
        }
        return .object(members)
    }

    /// Makes the problem of a row that exists, and leads to it if it is known.
    private init(_ resource: ResourceKind, existing id: String?) {
        guard let id else {
            self.init(
                kind: .alreadyExists,
                detail: "\(resource.rawValue): a row with this identifier or unique name already exists.")
            return
        }
        self.init(
            kind: .alreadyExists,
            detail: "\(resource.rawValue): the row '\(id)' says the same. Change or delete that one.")
        members = [("existingID", .string(id))]
        switch resource {
        case .grant: headers[.location] = "/admin/v1/grants/" + id
        case .quota: headers[.location] = "/admin/v1/quotas/" + id
        default: break
        }
    }

    private init(_ refusal: IdempotencyRefusal) {
        switch refusal {
        case .otherRequest:
            self.init(
                kind: .idempotencyKeyReused,
                detail: "This Idempotency-Key was sent with another path, query, If-Match or body, "
                    + "or by a credential with other rights. Use a new key.")
        case .inFlight(let seconds):
            self.init(kind: .idempotencyKeyInUse, detail: "A request with this Idempotency-Key is in progress.")
            setRetryAfter(seconds)
        case .answerGone:
            self.init(
                kind: .idempotentAnswerGone,
                detail: "The request took effect, but its answer cannot be repeated. "
                    + "Check the result, or send a new key.")
        }
    }

    private init(_ failure: ConditionFailure) {
        let detail =
            switch failure {
            case .contentType(let allowed):
                "The content type must be one of: \(allowed.joined(separator: ", "))."
            case .scriptableContentType(let type, let pattern):
                "'\(pattern)' leaves out '\(type)', because browsers run scripts in such objects; "
                    + "the grant has to name this type."
            case .contentMD5Required: "An upload here must state its Content-MD5."
            case .contentLengthRequired:
                "A grant or a quota limits the bytes of uploads here, so the length must be known: "
                    + "'contentLength' of the upload, or of each of its parts."
            case .sourceAddress: "The request does not come from an allowed network."
            case .redirect: "The bucket does not answer with redirects; ask for a presigned URL."
            case .responseContentType: "The grant needs 'allowResponseContentType' for 'response.contentType'."
            case .forcedDownload:
                "The grant forces downloads ('forceDownload'), so 'response.contentDisposition' must be an attachment."
            case .versions: "The grant does not allow reading a version; omit 'versionID'."
            case .notYetValid: "The grant is not valid yet ('notBefore')."
            case .noLongerValid: "The grant is no longer valid ('notAfter')."
            }
        self.init(kind: .conditionFailed, detail: detail)
        members = [("condition", .string(failure.name))]
    }

    private init(_ refusal: QuotaRefusal) {
        let period = refusal.period == .total ? "in total" : "per \(refusal.period.rawValue)"
        self.init(
            kind: .quotaExceeded,
            detail: "At most \(refusal.limit) \(refusal.metric.rawValue) \(period).")
        var quota: [JSONValue.Member] = [
            .init(name: "id", value: .string(refusal.quotaID)),
            .init(name: "metric", value: .string(refusal.metric.rawValue)),
            .init(name: "period", value: .string(refusal.period.rawValue)),
            .init(name: "limit", value: .number(String(refusal.limit))),
        ]
        if let seconds = refusal.resetsIn {
            quota.append(.init(name: "resetsIn", value: .number(String(seconds))))
            setRetryAfter(seconds)
        }
        members = [("quota", .object(quota)), ("remaining", .number(String(refusal.remaining)))]
        headers[.rateLimit] = RateLimit.remaining([RateLimit.Item(refusal)])
        headers[.rateLimitPolicy] = RateLimit.policy([RateLimit.Item(refusal)])
    }

    /// Makes the problem of an error of the API itself.
    init(_ error: APIError) {
        switch error {
        case .malformedTarget:
            self.init(kind: .malformedRequest, detail: "The request target cannot be decoded.")
        case .noSuchRoute:
            self.init(
                kind: .noSuchRoute,
                detail: "This listener has no such path; '/docs' at the admin listener lists all operations.")
        case .methodNotAllowed(let methods):
            let names = methods.map(\.rawValue).joined(separator: ", ")
            self.init(kind: .methodNotAllowed, detail: "This path supports \(names).")
            headers[.allow] = names
        case .unsupportedMediaType:
            self.init(kind: .unsupportedMediaType, detail: "Send Content-Type: application/json.")
        case .unsupportedRecords:
            self.init(
                kind: .unsupportedMediaType, detail: "Send Content-Type: application/x-ndjson or text/csv.")
        case .unsupportedContentCoding:
            self.init(
                kind: .unsupportedMediaType,
                detail: "Send the body uncompressed: 'identity' is the only Content-Encoding that is accepted.")
            headers[.acceptEncoding] = "identity"
        case .preconditionRequired(let source):
            self.init(kind: .preconditionRequired, detail: "Send If-Match with the ETag of \(source).")
        case .tooManyRequests(let refusal):
            self.init(refusal)
        }
    }

    private init(_ refusal: RateRefusal) {
        self.init(
            kind: .tooManyRequests,
            detail: "At most \(refusal.burst) \(refusal.name) at once; "
                + "the same number becomes available every \(refusal.window) s.")
        setRetryAfter(refusal.retryAfter)
        headers[.rateLimit] = RateLimit.remaining([RateLimit.Item(refusal)])
        headers[.rateLimitPolicy] = RateLimit.policy([RateLimit.Item(refusal)])
    }

    /// Makes the problem of a request that the server itself refuses.
    init(_ failure: ServerFailure) {
        switch failure {
        case .badRequest(let reason):
            self.init(kind: .malformedRequest, detail: reason)
        case .requestTimeout:
            self.init(kind: .requestTimeout)
        case .contentTooLarge(let maxBytes):
            self.init(kind: .requestTooLarge, detail: "The body may have at most \(maxBytes) bytes.")
            members = [("maxBytes", .number(String(maxBytes)))]
        case .uriTooLong:
            self.init(kind: .targetTooLong)
        case .expectationFailed:
            self.init(kind: .expectationFailed, detail: "Only 'Expect: 100-continue' is supported.")
        case .headerFieldsTooLarge(let maxBytes):
            self.init(
                kind: .headersTooLarge,
                detail:
                    "The head of a request may take \(maxBytes) bytes: its text, cookies once more, "
                    + "and 64 for each field and cookie. "
                    + "An answer with a long link needs some of that.")
            members = [("maxBytes", .number(String(maxBytes)))]
        case .unavailable(let seconds, _):
            self.init(kind: .slowDown)
            setRetryAfter(seconds)
        }
    }
}

extension ServerFailure {
    /// The reason why the server cannot answer, where the fault is its own.
    var cause: Cause? {
        if case .unavailable(_, let shortage) = self { Cause(shortage.rawValue) } else { nil }
    }
}
