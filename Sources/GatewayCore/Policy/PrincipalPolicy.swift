/// The rows of one principal, laid out for lookups. Shared by all decisions that need them.
public final class PrincipalPolicy: Sendable {
    /// Most templates of one principal in one bucket that are looked at, those that deny before those that allow.
    public static let maxTemplates = 64

    /// The principal.
    public let principal: Principal
    /// Groups that rows put the principal in.
    public let groups: [Principal]
    /// Its quotas.
    public let quotas: [Quota]
    /// Whether ``grants`` holds all of them.
    public let isComplete: Bool
    /// Whether it is one user.
    let isUser: Bool
    private let rows: [GrantRow]
    private let index: Index?

    // Below this a look at every grant costs less than hashing candidates.
    private static let scanLimit = 16

    /// The scope under which all of it changes.
    var scope: PolicyScope { .principal(principal) }

    /// Its grants; without the literal ones where ``isComplete`` is false.
    public var grants: [Grant] { rows.map(\.grant) }

    /// Lays rows out.
    public init(principal: Principal, rows: PrincipalRows) {
        self.principal = principal
        groups = rows.groups
        quotas = rows.quotas
        isComplete = rows.isComplete
        isUser = principal.isUser
        self.rows = Self.order(rows.grants).map(GrantRow.init)
        index = rows.grants.count > Self.scanLimit ? Index(self.rows) : nil
    }

    /// Hands out every grant that may match a key; the caller checks whether it does.
    @inline(__always)
    func forEachCandidate(in bucket: BucketName, key: ObjectKey, _ body: (GrantRow) -> Void) {
        guard let index else {
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

    /// Hands out every grant in a bucket that may match some key, within the bound on templates.
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

    /// Denying grants first, so that a bound on how many are looked at never lets one slip.
    private static func order(_ grants: [Grant]) -> [Grant] {
        grants.count < 2
            ? grants
            : grants.sorted { left, right in
                left.effect == right.effect ? left.id < right.id : left.effect == .deny
            }
    }
}

extension PrincipalPolicy {
    /// Where grants stand in the array, by the place that names them.
    private struct Index: Sendable {
        struct Place: Hashable, Sendable {
            let bucket: BucketName
            let prefix: ExactText
        }

        var literals: [Place: [Int]] = [:]
        var templates: [BucketName: [Int]] = [:]
        private var literalBuckets: Set<BucketName> = []

        init(_ rows: [GrantRow]) {
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
        }

        func hasLiterals(in bucket: BucketName) -> Bool { literalBuckets.contains(bucket) }
    }
}
