/// A grant, with what decisions read of it worked out once.
final class GrantRow: Sendable {
    /// The grant.
    let grant: Grant
    /// Whether it demands nothing besides bucket, key and action, and is valid for ever.
    let isUnconditional: Bool
    /// The networks of ``GrantConditions/sourceCIDRs``.
    let networks: [IPNetwork]?
    private let permitsUpload: Bool
    private let permitsDownload: Bool
    private let template: KeyTemplate?

    /// Lays a grant out.
    init(_ grant: Grant) {
        self.grant = grant
        isUnconditional =
            grant.conditions == GrantConditions() && grant.notBefore == nil && grant.notAfter == nil
        networks = grant.conditions.networks
        permitsUpload = grant.actions.contains(.putObject)
        permitsDownload = grant.actions.contains(.getObject)
        template =
            switch grant.prefix {
            case .literal: nil
            case .template(let text): KeyTemplate(text.rawValue)
            }
    }

    /// Whether it covers an action.
    func covers(_ action: Action) -> Bool {
        switch action {
        case .putObject: permitsUpload
        case .getObject: permitsDownload
        }
    }

    /// How many bytes of a key its prefix covers, variables filled in; `nil` where it does not match.
    ///
    /// As ``Grant/expandedPrefix(for:)`` has it where a variable has no usable value.
    func matchedByteCount(of key: ObjectKey, for subject: Subject) -> Int? {
        if let template {
            return grant.effect == .deny
                ? template.deniedByteCount(of: key, for: subject) : template.matchedByteCount(of: key, for: subject)
        }
        return grant.prefix.matchedByteCount(of: key, for: subject)
    }
}

/// A bucket, with what decisions read of it worked out once.
final class BucketRow: Sendable {
    /// The bucket.
    let bucket: Bucket
    /// What the scheme can bind that signs.
    let binding: SchemeBinding

    /// Lays a bucket out.
    init(_ bucket: Bucket) {
        self.bucket = bucket
        binding = bucket.binding
    }

    /// The same bucket where another scheme than its own signs.
    init(_ other: BucketRow, signedBy binding: SchemeBinding) {
        bucket = other.bucket
        self.binding = binding
    }
}

/// A storage credential, handed along without being copied.
final class CredentialRow: Sendable {
    /// The credential.
    let credential: StorageCredential

    /// Lays a credential out.
    init(_ credential: StorageCredential) {
        self.credential = credential
    }
}

extension GrantConditions {
    /// The networks of ``sourceCIDRs``; a text that is none matches no address.
    var networks: [IPNetwork]? {
        sourceCIDRs.map { texts in texts.compactMap { IPNetwork($0) } }
    }
}

/// An API key, handed along without being copied.
public final class APIKeyRow: Sendable {
    /// The key.
    public let key: APIKey
    /// The scope under which it changes.
    public let scope: PolicyScope

    /// Lays a key out.
    init(_ key: APIKey) {
        self.key = key
        scope = .apiKey(prefix: key.prefix)
    }
}
