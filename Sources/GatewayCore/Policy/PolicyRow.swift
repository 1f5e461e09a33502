import Signing

/// A grant, with derived values that decisions use computed once.
final class GrantRow: Sendable {
    /// The grant.
    let grant: Grant
    /// Whether the grant has no conditions and no limits of validity.
    let isUnconditional: Bool
    private let permitsUpload: Bool
    private let permitsDownload: Bool
    private let permitsListing: Bool
    private let permitsDeletion: Bool
    private let parsed: Rare<Parsed>

    /// What few grants have, ready for use.
    private struct Parsed: Sendable {
        var networks: [IPNetwork]?
        var template: KeyTemplate?
    }

    /// The networks of ``GrantConditions/sourceCIDRs``.
    var networks: [IPNetwork]? { parsed.value?.networks }

    /// Every set of actions, so that rows with the same actions share one in memory.
    private static let sets = Action.allCases.reduce(into: [[]] as Set<Set<Action>>) { sets, action in
        sets.formUnion(sets.map { $0.union([action]) })
    }

    /// Computes the derived values of a grant.
    init(_ grant: Grant) {
        var shared = grant
        if let held = Self.sets.firstIndex(of: grant.actions) { shared.actions = Self.sets[held] }
        self.grant = shared
        isUnconditional = grant.isUnconditional
        permitsUpload = grant.actions.contains(.putObject)
        permitsDownload = grant.actions.contains(.getObject)
        permitsListing =
            grant.actions.contains(.listObjects) && (grant.effect == .deny || grant.prefix.coversManyKeys)
        permitsDeletion = grant.actions.contains(.deleteObject)
        var template: KeyTemplate?
        if case .template(let text) = grant.prefix { template = KeyTemplate(text.rawValue) }
        let networks = grant.conditions.networks
        parsed = Rare(template == nil && networks == nil ? nil : Parsed(networks: networks, template: template))
    }

    /// Whether the grant covers an action. One that allows listing a single key covers no listing, which would show all
    /// keys that begin with it.
    func covers(_ action: Action) -> Bool {
        switch action {
        case .putObject: permitsUpload
        case .getObject: permitsDownload
        case .listObjects: permitsListing
        case .deleteObject: permitsDeletion
        }
    }

    /// Returns how many bytes of a key the grant's prefix covers, with variables filled in; `nil` if it does not match.
    ///
    /// For a variable without a usable value, see ``Grant/expandedPrefix(for:)``.
    func matchedByteCount(of key: ObjectKey, for subject: Subject) -> Int? {
        if let template = parsed.value?.template {
            return grant.effect == .deny
                ? template.deniedByteCount(of: key, for: subject) : template.matchedByteCount(of: key, for: subject)
        }
        return grant.prefix.matchedByteCount(of: key, for: subject)
    }
}

/// A bucket, with derived values that decisions use computed once.
final class BucketRow: Sendable {
    /// The bucket.
    let bucket: Bucket
    /// The binding of the scheme that signs.
    let binding: SchemeBinding
    /// The name of the address that ``bucket`` has.
    let endpoint: PublicEndpoint.Name
    /// How links are signed if they lead to a content delivery network that checks them.
    let cdnScheme: CDNScheme?
    /// Whether links work only from the address that asked for them.
    let bindsSourceAddress: Bool
    /// Whether a parameter that the holder of a link adds may reach Alibaba OSS through a content delivery network.
    let passesParametersToOSS: Bool
    /// The same bucket as links name it at its public addresses; empty if it has none.
    fileprivate let places: [BucketRow]

    /// Computes the derived values of a bucket.
    init(_ bucket: Bucket) {
        self.bucket = bucket
        binding = bucket.binding
        endpoint = .default
        cdnScheme = bucket.cdn?.forSigning
        bindsSourceAddress = false
        passesParametersToOSS = false
        places = PublicEndpoint.Name.allCases.compactMap { name in
            bucket.publicEndpoints[name].flatMap { _ in bucket.at(name) }.map { BucketRow($0, at: name) }
        }
    }

    private init(_ bucket: Bucket, at name: PublicEndpoint.Name) {
        self.bucket = bucket
        binding = bucket.binding
        endpoint = name
        cdnScheme = bucket.cdn?.forSigning
        bindsSourceAddress = bucket.cdn?.bindsSourceAddress == true
        passesParametersToOSS = bucket.passesParametersToOSS
        places = []
    }

    /// Creates a row of the same bucket for another signing scheme than its own.
    init(_ other: BucketRow, signedBy binding: SchemeBinding) {
        bucket = other.bucket
        self.binding = binding
        endpoint = .default
        cdnScheme = nil
        bindsSourceAddress = false
        passesParametersToOSS = false
        places = []
    }

    /// Returns the bucket at the address that a request chooses. The gateway itself calls the bucket's own. The row is
    /// this one if the bucket has no address of the chosen name; a decision then refuses the request.
    @inline(__always)
    func chosen(by request: IssueRequest) -> BucketRow {
        guard !places.isEmpty, !request.isSentByGateway else { return self }
        let name = request.endpoint ?? .default
        return places.first { $0.endpoint == name } ?? self
    }
}

extension BucketRow {
    /// The bucket as its content delivery network names it; `nil` if it names none.
    var atCDN: BucketRow? { places.first { $0.endpoint == .cdn } }
}

/// A storage credential that can be passed on without a copy.
final class CredentialRow: Sendable {
    /// The credential.
    let credential: StorageCredential

    /// Wraps a credential.
    init(_ credential: StorageCredential) {
        self.credential = credential
    }
}

extension GrantConditions {
    /// The networks of ``sourceCIDRs``. An entry that cannot be read matches no address.
    var networks: [IPNetwork]? {
        sourceCIDRs.map { texts in texts.compactMap { IPNetwork($0) } }
    }
}

/// An API key that can be passed on without a copy.
public final class APIKeyRow: Sendable {
    /// The key.
    public let key: APIKey
    /// The scope that a change of the key touches. It is not stored: of so many keys it would be the largest text.
    public var scope: PolicyScope { .apiKey(prefix: key.prefix) }

    /// Wraps a key.
    init(_ key: APIKey) {
        self.key = key
    }
}
