public import Foundation

/// Why a call failed.
public struct SluiceError: Error, Sendable {
    /// Who failed.
    public enum Source: String, Sendable {
        /// The gateway refused.
        case gateway
        /// The store refused.
        case store
        /// No answer came.
        case network
        /// The client itself gave up.
        case client
    }

    /// A quota that is exhausted.
    public struct Quota: Sendable, Hashable, Decodable {
        /// Identifies the quota.
        public let id: String
        /// `urls` or `bytes`.
        public let metric: String
        /// `minute`, `hour`, `day`, `month` or `total`.
        public let period: String
        /// How much the quota allows in a period.
        public let limit: Int64
        /// The number of seconds until the next period. Absent for a total.
        public let resetsIn: Int?
    }

    /// Who failed.
    public var source: Source
    /// What failed, for programs.
    public var code: ErrorCode
    /// The status of the answer; 0 without one.
    public var status = 0
    /// What failed, for people. The same for all requests with the code.
    public var title: String?
    /// What is wrong with this request, for people.
    public var detail: String?
    /// The type of the problem, a reference such as `/problems/access-denied`.
    public var type: String?
    /// Identifies the request in the gateway's log.
    public var requestID: String?
    /// Member of the request that is wrong.
    public var field: String?
    /// Condition of the grant that does not hold.
    public var condition: String?
    /// Quota that is exhausted.
    public var quota: Quota?
    /// What is left of the quota.
    public var remaining: Int64?
    /// How long to wait.
    public var retryAfter: Duration?

    init(_ source: Source, _ code: ErrorCode, status: Int = 0, detail: String? = nil, retryAfter: Duration? = nil) {
        self.source = source
        self.code = code
        self.status = status
        self.detail = detail
        self.retryAfter = retryAfter
    }

    /// Whether the same call may succeed later.
    public var mayPass: Bool {
        // A quota that opens tomorrow is not worth waiting for, and one without periods does not open.
        if let retryAfter, retryAfter > .seconds(60) { return false }
        if let quota, quota.resetsIn == nil { return false }
        switch source {
        case .network: return true
        case .client: return false
        case .gateway, .store:
            if status == 501 { return false }
            // S3 has the last one repeated.
            return [408, 429].contains(status) || status >= 500
                || [.idempotencyKeyInUse, .requestTimeout, .unknown("ConditionalRequestConflict")].contains(code)
        }
    }
}

extension SluiceError: LocalizedError {
    /// What is wrong, for people: the detail, or else the title or the code.
    public var errorDescription: String? { detail ?? title ?? code.name }
}

extension SluiceError {
    static func lost(_ detail: String) -> SluiceError { SluiceError(.network, .networkError, detail: detail) }

    /// Of an answer of the gateway, or of a proxy before it.
    init(refusal answer: Answer) {
        let problem = try? JSONDecoder().decode(Problem.self, from: answer.body)
        self.init(problem ?? Problem(), status: answer.status)
        retryAfter = answer.retryAfter ?? retryAfter
    }

    init(_ problem: Problem, status: Int) {
        self.init(.gateway, ErrorCode(problem.code ?? "HTTP\(status)"), status: status, detail: problem.detail)
        title = problem.title
        type = problem.type
        requestID = problem.requestID
        field = problem.field
        condition = problem.condition
        quota = problem.quota
        remaining = problem.remaining
        // An item of a list has no header that says it.
        retryAfter = problem.quota?.resetsIn.map { .seconds($0) }
    }

    /// Of an answer of a store: XML, most of the time.
    init(storeRefusal answer: Answer) {
        let text = String(decoding: answer.body, as: UTF8.self)
        func element(_ name: String) -> String? {
            guard let start = text.range(of: "<\(name)>"),
                let end = text.range(of: "</\(name)>", range: start.upperBound..<text.endIndex)
            else { return nil }
            return String(text[start.upperBound..<end.lowerBound])
        }
        self.init(
            .store, ErrorCode(element("Code") ?? "HTTP\(answer.status)"), status: answer.status,
            detail: element("Message") ?? "The store answered \(answer.status).", retryAfter: answer.retryAfter)
        requestID = element("RequestId")
    }

    /// Whether an object has the key of an upload that may not replace one. Alibaba OSS answers that with 409.
    var meansExists: Bool {
        source == .store && (status == 412 || status == 409 && code == ErrorCode("FileAlreadyExists"))
    }

    /// Whether the link may have expired. Stores answer that with 403, and some with 400 or 401.
    var mayBeExpiry: Bool {
        guard source == .store else { return false }
        return status == 403 || ([400, 401].contains(status) && code.name.contains("Expired"))
    }
}

/// The members of `application/problem+json` that tell an app something.
struct Problem: Decodable {
    var type: String?
    var title: String?
    var status: Int?
    var detail: String?
    var code: String?
    var requestID: String?
    var field: String?
    var condition: String?
    var quota: SluiceError.Quota?
    var remaining: Int64?
}
