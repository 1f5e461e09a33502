/// What the cache holds, and how it changes. Synchronous: its owner guards it with a lock.
struct HeldPolicy {
    /// What an attempt to put rows together found.
    enum Attempt {
        case complete(AccessPolicy)
        case missing(Set<PolicyKey>)
        case missingPlaces(Set<GrantPlace>)
        case tooManyGroups
    }

    /// For whom and what rows are put together.
    struct Question {
        let principal: Principal
        let groups: [Principal]
        let bucket: BucketName?
        let key: ObjectKey?
    }

    private struct PlacedGrants {
        // The rows that said that grants are to be looked up by place. When those go, this is void.
        let owner: PrincipalPolicy
        let grants: [Grant]
    }

    /// How far the log of changes is read; `nil` before anything was.
    private(set) var position: PolicyPosition?
    /// How often everything was forgotten: what was asked for before is of no use after.
    private(set) var epoch: UInt64 = 0
    private var rows: LeastRecentlyUsed<PolicyKey, CachedRows>
    private var places: LeastRecentlyUsed<GrantPlace, PlacedGrants>
    private let maxGroups: Int

    /// About how many bytes are held.
    var cost: Int { rows.cost + places.cost }
    /// Keys whose rows are held.
    var count: Int { rows.count }

    init(limits: PolicyCache.Limits) {
        rows = LeastRecentlyUsed(maxCount: limits.maxEntries, maxCost: limits.maxBytes)
        places = LeastRecentlyUsed(maxCount: limits.maxPlaces, maxCost: limits.maxBytes / 4)
        maxGroups = limits.maxGroups
    }

    /// The rows of one key.
    mutating func content(of key: PolicyKey) -> (position: PolicyPosition, content: CachedRows.Content)? {
        guard let position, let held = rows.value(for: key) else { return nil }
        return (position, held.content)
    }

    /// Puts together what bears on a caller, or says what has to be loaded first.
    mutating func attempt(_ question: Question) -> Attempt {
        var missing: Set<PolicyKey> = []
        var principals: [PrincipalPolicy] = []
        principals.reserveCapacity(question.groups.count + 3)
        take(question.principal, into: &principals, missing: &missing)
        let groupsOfRows = principals.first?.groups ?? []
        guard question.groups.count + groupsOfRows.count <= maxGroups else { return .tooManyGroups }
        for group in question.groups where group.isGroup { take(group, into: &principals, missing: &missing) }
        for group in groupsOfRows where group.isGroup { take(group, into: &principals, missing: &missing) }
        take(.anyone, into: &principals, missing: &missing)

        var scopes: [PolicyScope] = []
        scopes.reserveCapacity(principals.count + 3)
        for principal in principals { scopes.append(.principal(principal.principal)) }
        let (bucket, credential) = store(of: question.bucket, scopes: &scopes, missing: &missing)
        guard missing.isEmpty, let position else { return .missing(missing) }
        var policy = AccessPolicy(
            position: position, principals: principals, bucket: bucket, credential: credential, scopes: scopes
        )
        let missingPlaces = addPlacedGrants(to: &policy, for: question)
        return missingPlaces.isEmpty ? .complete(policy) : .missingPlaces(missingPlaces)
    }

    private mutating func take(
        _ principal: Principal, into principals: inout [PrincipalPolicy], missing: inout Set<PolicyKey>
    ) {
        guard let held = rows.value(for: .principal(principal)), case .principal(let policy) = held.content else {
            missing.insert(.principal(principal))
            return
        }
        if !principals.contains(where: { $0 === policy }) { principals.append(policy) }
    }

    private mutating func store(
        of name: BucketName?, scopes: inout [PolicyScope], missing: inout Set<PolicyKey>
    ) -> (Bucket?, StorageCredential?) {
        guard let name else { return (nil, nil) }
        guard let held = rows.value(for: .bucket(name)), case .bucket(let bucket) = held.content else {
            missing.insert(.bucket(name))
            return (nil, nil)
        }
        scopes.append(held.scope)
        guard let bucket else { return (nil, nil) }
        let key = PolicyKey.credential(bucket.credentialID)
        guard let held = rows.value(for: key), case .credential(let credential) = held.content else {
            missing.insert(key)
            return (bucket, nil)
        }
        scopes.append(held.scope)
        return (bucket, credential)
    }

    private mutating func addPlacedGrants(to policy: inout AccessPolicy, for question: Question) -> Set<GrantPlace> {
        guard let bucket = question.bucket, let key = question.key, policy.bucket != nil else { return [] }
        var missing: Set<GrantPlace> = []
        for principal in policy.principals where !principal.isComplete {
            for prefix in key.candidatePrefixes {
                let place = GrantPlace(principal: principal.principal, bucket: bucket, prefix: prefix)
                if let placed = places.value(for: place), placed.owner === principal {
                    policy.literalGrants += placed.grants
                } else {
                    missing.insert(place)
                }
            }
        }
        return missing
    }
}

extension HeldPolicy {
    /// Takes loaded rows in; `false`, and nothing is kept, when they may be older than what was forgotten meanwhile.
    mutating func admit(_ load: PolicyLoad<[PolicyRows]>, of keys: [PolicyKey], askedAt epoch: UInt64) -> Bool {
        guard accepts(load.position, askedAt: epoch) else { return false }
        for (key, loaded) in zip(keys, load.rows) {
            guard let entry = CachedRows(loaded, of: key) else { continue }
            rows.insert(entry, for: key, cost: entry.cost)
        }
        return true
    }

    /// Takes grants found by place in, under the same rule.
    mutating func admit(_ load: PolicyLoad<[[Grant]]>, at places: [GrantPlace], askedAt epoch: UInt64) -> Bool {
        guard accepts(load.position, askedAt: epoch) else { return false }
        for (place, grants) in zip(places, load.rows) {
            guard let held = rows.value(for: .principal(place.principal)), case .principal(let owner) = held.content
            else { continue }
            let cost = 250 + place.prefix.rawValue.utf8.count + 700 * grants.count
            self.places.insert(PlacedGrants(owner: owner, grants: grants), for: place, cost: cost)
        }
        return true
    }

    /// Follows the log: drops what changed, or everything.
    mutating func apply(_ changes: PolicyChanges) {
        switch changes {
        case .restart(let position):
            forgetEverything()
            self.position = position
        case .scopes(let scopes, let position):
            self.position = position
            for scope in scopes {
                guard let key = PolicyKey(scope) else {
                    rows.removeAll()
                    places.removeAll()
                    return
                }
                rows.remove(key)
            }
        }
    }

    private mutating func forgetEverything() {
        rows.removeAll()
        places.removeAll()
        epoch += 1
    }

    private mutating func accepts(_ loaded: PolicyPosition, askedAt epoch: UInt64) -> Bool {
        guard epoch == self.epoch else { return false }
        guard let position else {
            self.position = loaded
            return true
        }
        // An equal number with another tag is another log: a failover happened, and the next reading of the log shows it.
        return loaded.sequence > position.sequence || loaded == position
    }
}
