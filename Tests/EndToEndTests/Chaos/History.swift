/// What happened in a run, as those who took part saw it and as the database tells it in the end. The ``Checker``
/// judges by it.
///
/// Times are seconds since the run began, on one monotonic clock, but for those of the database.
struct History: Sendable {
    /// What clients asked for.
    var asks: [Ask] = []
    /// What admins changed, first of all what there was at the beginning.
    var changes: [Change] = []
    /// What was done to gateways.
    var incidents: [Incident] = []
    /// How each gateway served once no fault was left.
    var revivals: [Revival] = []
    /// How long a gateway may take to answer, as it was told.
    var deadline = 15.0
    /// What `sluice audit-quotas` found; `nil` where it agreed.
    var audit: String?
    /// The database after it all.
    var ledger: [LedgerRow] = []
    var grants: [GrantRow] = []
    var quotas: [QuotaRow] = []
    var counters: [CounterRow] = []
}

/// One request of a client, and what came of it.
struct Ask: Sendable {
    var way: Way
    var principal: String
    /// The API key or ticket that it came with.
    var pass: Subject
    var bucket: String
    /// The object of each item; of a session its prefix.
    var keys: [String]
    /// The method that what is issued is for; `*` for a session's.
    var method: String
    /// Its `Idempotency-Key`.
    var repeatKey: String?
    /// Which gateway was asked, and which of its lives.
    var gateway = 0
    var life = 0
    /// When it was sent, and when the answer was there or known to be lost.
    var from: Double
    var to: Double
    var reply: Reply

    /// What is issued in each item.
    var given: [Credential] {
        guard case .items(let items) = reply else { return [] }
        return items.compactMap { if case .given(let credential) = $0 { credential } else { nil } }
    }

    /// The problems that were answered.
    var refusals: [Refusal] {
        switch reply {
        case .lost: []
        case .refused(let refusal): [refusal]
        case .items(let items): items.compactMap { if case .refused(let refusal) = $0 { refusal } else { nil } }
        }
    }
}

/// What a client got.
enum Reply: Sendable, Equatable {
    /// No answer.
    case lost(String)
    /// A problem in place of all that was asked for.
    case refused(Refusal)
    /// One answer for each item.
    case items([Item])

    enum Item: Sendable, Equatable {
        case given(Credential)
        case refused(Refusal)
    }
}

/// A problem that was answered.
struct Refusal: Sendable, Equatable {
    var status: Int
    var code: String
    var retryAfter: Int?
}

/// A link, form, session or signature that a client holds.
struct Credential: Sendable, Equatable {
    /// The row of the ledger, or the request where the answer does not name it.
    enum Name: Sendable, Hashable {
        case row(String)
        case request(String)
    }

    var name: Name
    /// What it is for, where it tells: the path of a URL.
    var path: String?
    /// Its end, in seconds since 1970.
    var expiresAt: Int
}

/// Something that an admin can change, and that decisions rest on.
enum Subject: Sendable, Hashable {
    /// Whether a principal has its grant: 1 or 0.
    case grant(String)
    /// Whether an API key is good.
    case key(String)
    /// Whether a ticket is good.
    case ticket(String)
    /// Whether a bucket answers with redirects.
    case redirects(String)
    /// The limit of a quota.
    case limit(String)
}

/// A change of policy: at some instant between `from` and `to` the subject took the value.
struct Change: Sendable {
    var subject: Subject
    var value: Int
    /// When it was first asked for.
    var from: Double
    /// When it was answered for good; infinite where it never was, so that it may have come about or not.
    var to: Double
}

extension Change {
    /// What holds from the beginning: of the run, or of something that was made just now and that nobody could use
    /// before.
    init(_ subject: Subject, isFromTheBeginning value: Int) {
        self.init(subject: subject, value: value, from: -.infinity, to: -.infinity)
    }
}

/// What was done to a gateway.
struct Incident: Sendable {
    enum Kind: Sendable {
        /// It was killed at `from`, and started again at `to`.
        case killed
        /// It was stopped from `from` to `to`.
        case stopped
        /// It ended by itself.
        case ended
    }

    var kind: Kind
    var gateway: Int
    var life: Int
    var from: Double
    var to: Double
}

/// How long a gateway took, after the last fault, until it issued; `nil` where it did not.
struct Revival: Sendable {
    var gateway: Int
    var seconds: Double?
}

/// A row of the ledger. Times are seconds since 1970, that of its commit microseconds.
struct LedgerRow: Sendable, Codable {
    struct Charge: Sendable, Codable {
        var quota: String
        var amount: Int
    }

    var id: String
    var request: String
    var policySeq: Int
    var principal: String
    var grant: String
    var delivery: String
    var method: String
    var bucket: String
    var key: String
    var issuedAt: Double
    var expiresAt: Int
    var committedAt: Int
    var charges: [Charge]
}

/// A grant, also one that was removed: which numbers of policy it came and went with.
struct GrantRow: Sendable, Codable {
    var id: String
    var principal: String
    var createdSeq: Int
    var removedSeq: Int?
    /// When its removal was committed, in microseconds since 1970.
    var removedAt: Int?
}

/// A quota; its limits are ``Change``s.
struct QuotaRow: Sendable, Codable {
    var id: String
    var principal: String
    var metric: String
    var period: String
    var isShared: Bool
}

/// What is counted against a quota in a period, which began so many seconds after 1970.
struct CounterRow: Sendable, Codable {
    var quota: String
    var holder: String
    var period: Int
    var used: Int
    var settled: Int
}
