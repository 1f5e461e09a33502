import StrictXML

/// Why a command failed.
public enum ClientFailure: Error, Sendable, Equatable {
    /// The command line or the environment is wrong.
    case usage(String)
    /// A file cannot be read or written, or changed meanwhile.
    case file(String)
    /// The gateway refused, and says when to ask again, in seconds, if that may help.
    case gateway(Problem, retryAfter: Int?)
    /// The store refused.
    case store(StoreRefusal, retryAfter: Int?)
    /// The answer is missing, incomplete or cannot be read.
    case unreachable(String)
    /// What arrived differs from what was sent.
    case different(String)
    /// The user ended the transfer. The text says how to go on.
    case stopped(String)
    /// The user answered no. The text says what was not done.
    case declined(String)

    /// A refusal of the gateway. Without a `Retry-After`, as in a list, the quota says when to ask again.
    init(_ problem: Problem, retryAfter: Int? = nil) {
        self = .gateway(problem, retryAfter: retryAfter ?? problem.quota?.resetsIn)
    }

    /// Whether the same request may succeed if it is sent again after a while.
    var mayPass: Bool {
        switch self {
        case .unreachable: true
        case .gateway(let problem, let seconds):
            // A quota that opens tomorrow, or never, is not worth waiting for.
            ([408, 429].contains(problem.status) || problem.status >= 500 || problem.code == "IdempotencyKeyInUse")
                && problem.status != 501 && (seconds ?? 0) <= Retries.longestPause
                && (problem.code != "QuotaExceeded" || seconds != nil)
        case .store(let refusal, let seconds):
            ([408, 429].contains(refusal.status) || (refusal.status >= 500 && refusal.status != 501)
                || ["ConditionalRequestConflict", "RequestTimeout", "SlowDown"].contains(refusal.code))
                && (seconds ?? 0) <= Retries.longestPause
        case .usage, .file, .different, .stopped, .declined: false
        }
    }

    /// Whether the request may have taken effect all the same. After a conflict with another writer it has not.
    var mayHaveBeenDone: Bool {
        if case .store(let refusal, _) = self, refusal.status == 409 { return false }
        return mayPass
    }

    /// The code of the gateway's refusal. That of an answer which is not a gateway's, such as the page of a proxy, is
    /// `UnknownAnswer`.
    var gatewayCode: String? {
        guard case .gateway(let problem, _) = self else { return nil }
        return problem.code
    }

    /// Seconds to wait before the next attempt, as the other side asked.
    var retryAfter: Int? {
        switch self {
        case .gateway(_, let seconds), .store(_, let seconds): seconds
        default: nil
        }
    }
}

/// An error of the gateway, RFC 9457.
public struct Problem: Error, Sendable, Equatable, Codable {
    /// The status of the answer.
    public var status: Int
    /// The stable code, for example `AccessDenied`.
    public var code: String
    /// The constant text of the code.
    public var title: String?
    /// What is wrong with this request.
    public var detail: String?
    /// Member of the request that is wrong.
    public var field: String?
    /// Identifies the request in the gateway's log.
    public var requestID: String?
    /// The quota that is used up.
    public var quota: Quota?

    /// What is known of a quota.
    public struct Quota: Sendable, Equatable, Codable {
        /// Seconds until it opens again; `nil` if it never does.
        public var resetsIn: Int?
    }
}

/// The refusal of a store.
public struct StoreRefusal: Sendable, Equatable {
    /// The status of the answer.
    public var status: Int
    /// The store's own code, for example `SignatureDoesNotMatch`; empty if there is none.
    public var code: String
    /// The store's own text; empty if there is none.
    public var message: String

    /// Reads the XML of a store's error.
    init(status: Int, body: [UInt8]) {
        let beginning = body.prefix(16_384)
        self.status = status
        code = XMLFragment.text(of: "Code", in: beginning) ?? ""
        message = XMLFragment.text(of: "Message", in: beginning) ?? ""
    }

    /// Whether an object with the key exists. Alibaba OSS says so in words of its own.
    var meansExists: Bool { status == 412 || status == 409 && code == "FileAlreadyExists" }
}
