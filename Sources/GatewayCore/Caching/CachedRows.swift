import FoundationEssentials

/// The rows of one key, as the cache holds them.
final class CachedRows: Sendable {
    /// The rows, by kind. Large rows are stored indirectly.
    enum Content: Sendable {
        case principal(PrincipalPolicy)
        case bucket(BucketRow?)
        case credential(CredentialRow?)
        indirect case issuer(Issuer?)
        case apiKey(APIKeyRow?)
        indirect case ticket(Ticket?)
    }

    /// The rows.
    let content: Content
    /// Approximate memory that the rows take, in bytes.
    let cost: Int

    /// Whether the row does not exist. Never `true` for a principal, whose lists of rows may be empty instead.
    var isAbsent: Bool {
        switch content {
        case .bucket(nil), .credential(nil), .issuer(nil), .apiKey(nil), .ticket(nil): true
        default: false
        }
    }

    /// Indexes rows for lookups; `nil` if the rows are not of the key's kind.
    init?(_ rows: PolicyRows, of key: PolicyKey) {
        switch (key, rows) {
        case (.principal(let principal), .principal(let rows)):
            content = .principal(PrincipalPolicy(principal: principal, rows: rows))
            cost = 400 + 48 * rows.groups.count + 700 * rows.grants.count + 250 * rows.quotas.count
        case (.bucket, .bucket(let bucket)):
            content = .bucket(bucket.map(BucketRow.init))
            cost = 800
        case (.credential, .credential(let credential)):
            content = .credential(credential.map(CredentialRow.init))
            cost = 800 + (credential?.sessionToken?.reveal().utf8.count ?? 0)
        case (.issuer, .issuer(let issuer)):
            content = .issuer(issuer)
            cost = 1000 + (issuer?.keys.byteCount ?? 0) + (issuer?.console?.byteCount ?? 0)
        case (.apiKey, .apiKey(let key)):
            content = .apiKey(key.map(APIKeyRow.init))
            cost = 800
        case (.ticket, .ticket(let ticket)):
            content = .ticket(ticket)
            cost = 1000 + (ticket?.claims.reduce(0) { $0 + 64 + $1.key.utf8.count + $1.value.utf8.count } ?? 0)
        default:
            return nil
        }
    }
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

extension PolicyKey {
    /// The key whose rows change under a scope; `nil` if the scope names no key, as with ``PolicyScope/all``.
    package init?(_ scope: PolicyScope) {
        let text = scope.rawValue
        func rest(_ prefix: String) -> String? {
            text.utf8.starts(with: prefix.utf8) ? String(Substring(text.utf8.dropFirst(prefix.utf8.count))) : nil
        }
        if let name = rest("bucket:") {
            guard let name = try? BucketName(name) else { return nil }
            self = .bucket(name)
        } else if let id = rest("credential:") {
            guard let id = UUID(uuidString: id) else { return nil }
            self = .credential(id)
        } else if let issuer = rest("issuer:") {
            self = .issuer(ExactText(issuer))
        } else if let prefix = rest("apikey:") {
            self = .apiKey(prefix: prefix)
        } else if let name = rest("ticket:") {
            self = .ticket(name: name)
        } else {
            guard let principal = try? Principal(text) else { return nil }
            self = .principal(principal)
        }
    }
}
