/// The rows of one key, as the cache holds them. Large rows are stored indirectly.
enum CachedRows: Sendable {
    case principal(PrincipalPolicy)
    case bucket(BucketRow?)
    case credential(CredentialRow?)
    indirect case issuer(Stored<Issuer>?)
    case apiKey(APIKeyRow?)
    indirect case ticket(Ticket?)
    case unopened
    case unreadable

    /// Indexes rows for lookups; `nil` if the rows are not of the key's kind.
    init?(_ rows: PolicyRows, of key: PolicyKey) {
        switch (key, rows) {
        case (.principal(let principal), .principal(let rows)):
            self = .principal(PrincipalPolicy(principal: principal, rows: rows))
        case (.bucket, .bucket(let bucket)): self = .bucket(bucket.map(BucketRow.init))
        case (.credential, .credential(let credential)): self = .credential(credential.map(CredentialRow.init))
        case (.issuer, .issuer(let issuer)): self = .issuer(issuer)
        case (.apiKey, .apiKey(let key)): self = .apiKey(key.map(APIKeyRow.init))
        case (.ticket, .ticket(let ticket)): self = .ticket(ticket)
        case (.issuer, .unopened), (.ticket, .unopened): self = .unopened
        case (_, .unreadable): self = .unreadable
        default: return nil
        }
    }

    /// Whether the row does not exist. Never `true` for a principal, whose lists of rows may be empty instead.
    var isAbsent: Bool {
        switch self {
        case .bucket(nil), .credential(nil), .issuer(nil), .apiKey(nil), .ticket(nil): true
        default: false
        }
    }

    /// Approximate memory that the rows take, in bytes.
    var cost: Int {
        switch self {
        case .principal(let policy):
            policy.rows.reduce(250 + 48 * policy.groups.count + 250 * policy.quotas.count) { $0 + $1.cost }
                + policy.principal.rawValue.cost
        case .bucket: 800
        case .credential(let row): 800 + (row?.credential.sessionToken?.reveal().utf8.count ?? 0)
        case .issuer(let issuer): 1000 + (issuer?.keys.byteCount ?? 0) + (issuer?.console?.byteCount ?? 0)
        case .apiKey(let row): 350 + (row?.key.principal.rawValue.cost ?? 0) + (row?.key.name.cost ?? 0)
        case .ticket(let ticket):
            1000 + (ticket?.claims.reduce(0) { $0 + 64 + $1.key.utf8.count + $1.value.utf8.count } ?? 0)
        case .unopened, .unreadable: 300
        }
    }
}

extension GrantRow {
    /// Approximate memory that the row takes, in bytes.
    var cost: Int {
        let conditions = grant.conditions
        let texts =
            [grant.principal.rawValue, grant.bucket.rawValue, grant.prefix.text, grant.note, grant.createdBy]
            + (conditions.contentTypes ?? []) + (conditions.sourceCIDRs ?? [])
        return texts.reduce(isUnconditional ? 200 : 500) { $0 + $1.cost }
    }
}

extension String {
    /// Approximate memory that the text takes besides its 16 bytes, in which 15 bytes of text have room.
    fileprivate var cost: Int { utf8.count > 15 ? 48 + utf8.count : 0 }
}

extension Issuer.Keys {
    fileprivate var byteCount: Int {
        switch self {
        case .url(let text), .inline(let text): text.utf8.count
        case .secret(let secret): secret.reveal().utf8.count
        }
    }
}

extension ConsoleSignIn {
    fileprivate var byteCount: Int {
        [clientID, authorizationEndpoint ?? "", tokenEndpoint ?? ""].reduce(200) { $0 + $1.utf8.count }
            + scopes.reduce(0) { $0 + 32 + $1.utf8.count }
    }
}
