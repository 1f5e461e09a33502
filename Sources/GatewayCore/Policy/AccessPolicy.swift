/// What policy says that bears on one caller, bucket and key, and the position at which it says so.
public struct AccessPolicy: Sendable {
    /// The state of policy; everything here is at least this new.
    public var position: PolicyPosition
    /// The caller first, then the caller's groups, then `*`; none twice.
    public var principals: [PrincipalPolicy]
    /// Literal grants found one by one, for principals whose grants are not all held.
    public var literalGrants: [Grant]
    /// The bucket, where there is one of that name.
    public var bucket: Bucket?
    /// The credential that signs for the bucket.
    public var credential: StorageCredential?
    /// Everything that this rests on, for the proof.
    public var scopes: [PolicyScope]

    /// Puts policy together.
    public init(
        position: PolicyPosition, principals: [PrincipalPolicy], literalGrants: [Grant] = [], bucket: Bucket?,
        credential: StorageCredential?, scopes: [PolicyScope]
    ) {
        self.position = position
        self.principals = principals
        self.literalGrants = literalGrants
        self.bucket = bucket
        self.credential = credential
        self.scopes = scopes
    }
}

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
    /// Its grants; without the literal ones where `isComplete` is false.
    public let grants: [Grant]
    /// Whether `grants` holds all of them.
    public let isComplete: Bool
    private let index: Index?

    // Below this a look at every grant costs less than hashing candidates.
    private static let scanLimit = 16

    /// Lays rows out.
    public init(principal: Principal, rows: PrincipalRows) {
        self.principal = principal
        groups = rows.groups
        quotas = rows.quotas
        grants = Self.order(rows.grants)
        isComplete = rows.isComplete
        index = rows.grants.count > Self.scanLimit ? Index(grants) : nil
    }

    /// Hands out every grant that may match a key; the caller checks whether it does.
    func forEachCandidate(in bucket: BucketName, key: ObjectKey, _ body: (Grant) -> Void) {
        guard let index else {
            var templateCount = 0
            for grant in grants where grant.bucket == bucket {
                if grant.prefix.isTemplate {
                    templateCount += 1
                    guard templateCount <= Self.maxTemplates else { continue }
                }
                body(grant)
            }
            return
        }
        for position in index.templates[bucket] ?? [] { body(grants[position]) }
        guard index.hasLiterals(in: bucket) else { return }
        for candidate in key.candidatePrefixes {
            let place = Index.Place(bucket: bucket, prefix: candidate)
            for position in index.literals[place] ?? [] { body(grants[position]) }
        }
    }

    /// Hands out every grant in a bucket that may match some key, within the bound on templates.
    func forEachGrant(in bucket: BucketName, _ body: (Grant) -> Void) {
        var templateCount = 0
        for grant in grants where grant.bucket == bucket {
            if grant.prefix.isTemplate {
                templateCount += 1
                guard templateCount <= Self.maxTemplates else { continue }
            }
            body(grant)
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

        init(_ grants: [Grant]) {
            for (position, grant) in grants.enumerated() {
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
