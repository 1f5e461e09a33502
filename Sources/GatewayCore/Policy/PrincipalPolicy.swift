/// The rows of one principal, indexed for lookups. All decisions that need them share one instance.
public final class PrincipalPolicy: Sendable {
    /// Largest number of templates considered for one principal in one bucket. Templates that deny come before those
    /// that allow.
    public static let maxTemplates = 64

    /// The principal.
    public let principal: Principal
    /// Whether ``grants`` holds all grants of the principal.
    public let isComplete: Bool
    /// Whether the principal is one user.
    let isUser: Bool
    /// Grants of the principal, with derived values; incomplete as ``grants`` is.
    let rows: [GrantRow]
    private let further: Rare<Further>

    /// What few principals have.
    private struct Further: Sendable {
        let groups: [Principal]
        let quotas: [Quota]
        let index: Index?
    }

    /// Groups that the principal belongs to, according to the rows.
    public var groups: [Principal] { further.value?.groups ?? [] }
    /// Quotas of the principal.
    public var quotas: [Quota] { further.value?.quotas ?? [] }

    // At or below this number of grants, checking each grant costs less than hashing the candidate prefixes.
    private static let scanLimit = 16

    /// The scope that a change of any of these rows touches.
    var scope: PolicyScope { .principal(principal) }

    /// Grants of the principal. Literal grants are left out if ``isComplete`` is `false`.
    public var grants: [Grant] { rows.map(\.grant) }

    /// Indexes the rows of a principal.
    public init(principal: Principal, rows: PrincipalRows) {
        self.principal = principal
        isComplete = rows.isComplete
        isUser = principal.isUser
        self.rows = Self.order(rows.grants).map(GrantRow.init)
        let index = rows.grants.count > Self.scanLimit ? Index(self.rows) : nil
        let isPlain = rows.groups.isEmpty && rows.quotas.isEmpty && index == nil
        further = Rare(isPlain ? nil : Further(groups: rows.groups, quotas: rows.quotas, index: index))
    }

    /// Calls a function with every grant that may match a key. The function must check whether the grant does.
    @inline(__always)
    func forEachCandidate(in bucket: BucketName, key: ObjectKey, _ body: (GrantRow) -> Void) {
        guard let index = further.value?.index else {
            forEachGrant(in: bucket, body)
            return
        }
        for position in index.templates[bucket] ?? [] { body(rows[position]) }
        guard index.hasLiterals(in: bucket) else { return }
        for candidate in key.candidatePrefixes {
            let place = Index.Place(bucket: bucket, prefix: candidate)
            for position in index.literals[place] ?? [] { body(rows[position]) }
        }
    }

    /// Calls a function with every grant in a bucket that may match some key. The limit on templates applies.
    @inline(__always)
    func forEachGrant(in bucket: BucketName, _ body: (GrantRow) -> Void) {
        var templateCount = 0
        for row in rows where row.grant.bucket == bucket {
            if row.grant.prefix.isTemplate {
                templateCount += 1
                guard templateCount <= Self.maxTemplates else { continue }
            }
            body(row)
        }
    }

    /// Sorts grants that deny first, so that the limit on templates does not drop a deny in favour of an allow.
    private static func order(_ grants: [Grant]) -> [Grant] {
        grants.count < 2
            ? grants
            : grants.sorted { left, right in
                left.effect == right.effect ? left.id < right.id : left.effect == .deny
            }
    }
}

extension PrincipalPolicy {
    /// Positions of grants in the array, by the place that identifies them.
    private final class Index: Sendable {
        struct Place: Hashable, Sendable {
            let bucket: BucketName
            let prefix: ExactText
        }

        let literals: [Place: [Int]]
        let templates: [BucketName: [Int]]
        private let literalBuckets: Set<BucketName>

        init(_ rows: [GrantRow]) {
            var literals: [Place: [Int]] = [:]
            var templates: [BucketName: [Int]] = [:]
            var literalBuckets: Set<BucketName> = []
            for (position, row) in rows.enumerated() {
                let grant = row.grant
                switch grant.prefix {
                case .literal(let prefix):
                    literals[Place(bucket: grant.bucket, prefix: prefix), default: []].append(position)
                    literalBuckets.insert(grant.bucket)
                case .template:
                    if templates[grant.bucket, default: []].count < PrincipalPolicy.maxTemplates {
                        templates[grant.bucket, default: []].append(position)
                    }
                }
            }
            self.literals = literals
            self.templates = templates
            self.literalBuckets = literalBuckets
        }

        func hasLiterals(in bucket: BucketName) -> Bool { literalBuckets.contains(bucket) }
    }
}
