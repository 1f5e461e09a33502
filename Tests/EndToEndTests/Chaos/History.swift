/// The history of a run, as seen by its participants, with the final state of the database. The ``Checker`` judges by
/// it.
///
/// Times are seconds since the start of the run on one monotonic clock, except those of the database.
struct History: Sendable {
    /// The requests of clients.
    var asks: [Ask] = []
    /// The changes by admins. The initial state comes first.
    var changes: [Change] = []
    /// The faults of gateways.
    var incidents: [Incident] = []
    /// How each gateway served after the last fault.
    var revivals: [Revival] = []
    /// Seconds that a gateway may take to answer, as set in its configuration.
    var deadline = 15.0
    /// The findings of `sluice audit-quotas`; `nil` where there were none.
    var audit: String?
    /// The database after the run.
    var ledger: [LedgerRow] = []
    var grants: [GrantRow] = []
    var quotas: [QuotaRow] = []
    var counters: [CounterRow] = []
}

/// One request of a client, and its result.
struct Ask: Sendable {
    var way: Way
    var principal: String
    /// The API key or ticket of the request.
    var pass: Subject
    var bucket: String
    /// The object of each item; for a session its prefix.
    var keys: [String]
    /// The method for which the credential is issued; `*` for a session.
    var method: String
    /// The request's `Idempotency-Key`.
    var repeatKey: String?
    /// The gateway that was asked, and the number of its current life.
    var gateway = 0
    var life = 0
    /// The time when the request was sent, and the time when its answer arrived or was known to be lost.
    var from: Double
    var to: Double
    var reply: Reply

    /// The credential issued for each item.
    var given: [Credential] {
        guard case .items(let items) = reply else { return [] }
        return items.compactMap { if case .given(let credential) = $0 { credential } else { nil } }
    }

    /// The problems in the answer.
    var refusals: [Refusal] {
        switch reply {
        case .lost: []
        case .refused(let refusal): [refusal]
        case .items(let items): items.compactMap { if case .refused(let refusal) = $0 { refusal } else { nil } }
        }
    }
}

/// The answer that a client received.
enum Reply: Sendable, Equatable {
    /// No answer.
    case lost(String)
    /// One problem for the whole request.
    case refused(Refusal)
    /// One answer for each item.
    case items([Item])

    enum Item: Sendable, Equatable {
        case given(Credential)
        case refused(Refusal)
    }
}

/// A problem in an answer.
struct Refusal: Sendable, Equatable {
    var status: Int
    var code: String
    var retryAfter: Int?
}

/// A link, form, session or signature that a client holds.
struct Credential: Sendable, Equatable {
    /// The identifier of the ledger row, or of the request where the answer does not name the row.
    enum Name: Sendable, Hashable {
        case row(String)
        case request(String)
    }

    var name: Name
    /// The path of a URL; `nil` for credentials that do not show their object.
    var path: String?
    /// Expiry, in seconds since 1970.
    var expiresAt: Int
}

/// A thing that an admin can change and on which decisions rest.
enum Subject: Sendable, Hashable {
    /// Whether a principal has its grant: 1 or 0.
    case grant(String)
    /// Whether an API key is valid.
    case key(String)
    /// Whether a ticket is valid.
    case ticket(String)
    /// Whether a bucket answers with redirects.
    case redirects(String)
    /// The limit of a quota.
    case limit(String)
}

/// A change of policy: at some instant between `from` and `to`, the subject took the value.
struct Change: Sendable {
    var subject: Subject
    var value: Int
    /// The time when the change was first requested.
    var from: Double
    /// The time of the final answer. It is infinite where none arrived: the change may or may not have taken effect.
    var to: Double
}

extension Change {
    /// An initial value: at the start of the run, or of something just made that nobody could have used before.
    init(_ subject: Subject, isFromTheBeginning value: Int) {
        self.init(subject: subject, value: value, from: -.infinity, to: -.infinity)
    }
}

/// A fault of a gateway.
struct Incident: Sendable {
    enum Kind: Sendable {
        /// It was killed at `from` and started again at `to`.
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

/// Seconds after the last fault until a gateway issued again; `nil` where it did not.
struct Revival: Sendable {
    var gateway: Int
    var seconds: Double?
}

/// A row of the ledger. Times are seconds since 1970; the time of its commit is in microseconds.
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

/// A grant, present or removed, with the policy numbers of its creation and removal.
struct GrantRow: Sendable, Codable {
    var id: String
    var principal: String
    var createdSeq: Int
    var removedSeq: Int?
    /// The time when its removal was committed, in microseconds since 1970.
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

/// The amount counted against a quota in one period. `period` is the start in seconds since 1970.
struct CounterRow: Sendable, Codable {
    var quota: String
    var holder: String
    var period: Int
    var used: Int
    var settled: Int
}
