import FoundationEssentials

/// Builds the scope of a session, or of cookies, from grants, which are added one by one.
struct SessionBuilder {
    /// What the scope is for.
    enum Form {
        /// Temporary credentials of the store.
        case credentials
        /// Cookies of a content delivery network.
        case cookies
    }

    let request: SessionRequest
    let form: Form
    let subject: Subject
    let bucket: Bucket
    /// Whether a quota limits the bytes of uploads to the bucket.
    let limitsBytes: Bool
    let circumstances: Circumstances

    /// The usable grant that covers most.
    private(set) var chief: Grant?
    private var allowed: [Action: Set<KeyArea>] = [:]
    private var denied: [Action: Set<KeyArea>] = [:]
    /// A grant that denies the whole prefix, for each action that has one.
    private var closing: [Action: Grant] = [:]
    /// The usable grants, whose limits hold for the session.
    private(set) var limits: [Grant] = []
    /// Grants that allow but cannot be used, in the order in which they were found.
    private var misses: [Miss] = []

    /// An area that a grant allows but a session cannot include.
    private struct Miss {
        let action: Action
        let area: KeyArea
        let refusal: Refusal
    }

    init(
        request: SessionRequest, form: Form, subject: Subject, bucket: Bucket, limitsBytes: Bool,
        circumstances: Circumstances
    ) {
        self.request = request
        self.form = form
        self.subject = subject
        self.bucket = bucket
        self.limitsBytes = limitsBytes
        self.circumstances = circumstances
    }

    /// Adds a grant of the caller's principals in the bucket.
    mutating func consider(_ grant: Grant) {
        let actions = grant.actions.intersection(request.actions ?? Set(Action.allCases))
        guard !actions.isEmpty, let prefix = grant.expandedPrefix(for: subject),
            let area = KeyArea(prefix: prefix).intersection(KeyArea(prefix: request.prefix))
        else { return }
        for action in Action.allCases where actions.contains(action) {
            switch grant.effect {
            case .deny:
                // Count a deny that begins later too: it may begin while the session lives.
                guard grant.notAfter.map({ circumstances.now < $0 }) ?? true else { continue }
                denied[action, default: []].insert(area)
                if closing[action] == nil, area.covers(KeyArea(prefix: request.prefix)) { closing[action] = grant }
            case .allow:
                if let failure = failure(of: grant, area, for: action) {
                    misses.append(Miss(action: action, area: area, refusal: .unmet(failure, of: grant)))
                } else if action != .listObjects || area.isDirectory {
                    allowed[action, default: []].insert(area)
                    count(grant, prefix)
                }
            }
        }
    }

    /// Returns the areas per action, without those that a deny covers entirely.
    ///
    /// - Throws: The refusal, if an action that the request names has no area, or if none has one.
    func areas() throws(Refusal) -> [Action: SessionScope.Areas] {
        var areas: [Action: SessionScope.Areas] = [:]
        for action in Action.allCases where request.actions?.contains(action) ?? true {
            let denied = KeyArea.reduced(self.denied[action] ?? [])
            let isListing = action == .listObjects
            // A listing of an area shows all keys in it, so none of them may be denied.
            let allowed = KeyArea.reduced(self.allowed[action] ?? []).filter { area in
                !denied.contains { $0.covers(area) || isListing && area.covers($0) }
            }
            guard !allowed.isEmpty else {
                if request.actions != nil { throw nothing(for: action) }
                continue
            }
            let deniedInside = denied.filter { deny in allowed.contains { $0.covers(deny) } }
            // Cookies carry no denied areas, whatever their names.
            guard form == .cookies || deniedInside.allSatisfy(\.isNameable) else {
                throw .unmet(.notEnforceable(reason: Self.nameReason))
            }
            areas[action] = SessionScope.Areas(allowed: allowed, denied: deniedInside)
        }
        guard !areas.isEmpty else {
            throw nothing(
                for: Action.allCases.first { action in misses.contains { $0.action == action } } ?? .getObject)
        }
        guard bucket.maxSessionTTL > 0 else { throw .unmet(.notEnforceable(reason: Self.forbiddenReason)) }
        guard form == .cookies || bucket.maxTTL >= SessionRole.durations.lowerBound else {
            throw .unmet(.notEnforceable(reason: Self.lifeReason))
        }
        return areas
    }

    /// Returns what the areas leave out: areas that other grants allow but a session cannot include, and actions that
    /// no grant allows.
    func omissions(besides areas: [Action: SessionScope.Areas]) -> [SessionOmission] {
        Action.allCases.filter { request.actions?.contains($0) ?? true }.flatMap { action -> [SessionOmission] in
            let settled = (areas[action]?.allowed ?? []) + (denied[action] ?? [])
            let unlistable = action == .listObjects ? unlistable : []
            let missed = misses.filter { miss in
                miss.action == action && !settled.contains { $0.covers(miss.area) }
            }
            guard !missed.isEmpty || !unlistable.isEmpty || areas[action] != nil else {
                // Of what a request does not name, only what callers have always been given is worth a word.
                guard request.actions != nil || Action.transfers.contains(action) else { return [] }
                return [SessionOmission(action: action, prefix: request.prefix, reason: .accessDenied)]
            }
            let failed = KeyArea.reduced(Set(missed.map(\.area))).compactMap { area in
                missed.first { $0.area == area }.map { miss in
                    SessionOmission(action: action, prefix: area.prefix, reason: miss.refusal.error)
                }
            }
            let omitted = unlistable.map { area in
                SessionOmission(
                    action: action, prefix: area.prefix, reason: .notEnforceable(reason: Self.listingReason))
            }
            return omitted + failed
        }
    }

    /// The areas whose listing a grant allows, and in which another denies to list a part.
    private var unlistable: [KeyArea] {
        let denied = self.denied[.listObjects] ?? []
        return KeyArea.reduced(allowed[.listObjects] ?? []).filter { area in
            denied.contains { area.covers($0) && $0 != area }
        }
    }

    private mutating func count(_ grant: Grant, _ prefix: ExactText) {
        limits.append(grant)
        guard let held = chief, let heldPrefix = held.expandedPrefix(for: subject) else {
            chief = grant
            return
        }
        let (length, heldLength) = (prefix.rawValue.utf8.count, heldPrefix.rawValue.utf8.count)
        if length < heldLength || (length == heldLength && grant.id < held.id) { chief = grant }
    }

    /// Returns why an action has no area.
    private func nothing(for action: Action) -> Refusal {
        // If a deny covers the whole prefix, the caller must not learn which conditions failed.
        if let deny = closing[action] { return .denied(by: deny) }
        if action == .listObjects, !unlistable.isEmpty { return .unmet(.notEnforceable(reason: Self.listingReason)) }
        if let miss = misses.first(where: { $0.action == action }) { return miss.refusal.about(action) }
        return .noGrant
    }
}

extension SessionBuilder {
    static let nameReason = """
        A grant's prefix contains '*', '?' or a control character, which a session policy cannot express; ask for \
        presigned URLs instead.
        """
    static let lifeReason = """
        Temporary credentials must live at least 900 seconds, longer than the grant or the bucket allows; ask for \
        presigned URLs instead.
        """
    private static let forbiddenReason = "The bucket forbids temporary credentials; ask for presigned URLs instead."
    private static let listingReason = """
        A grant denies listing a part of the prefix, which a session policy cannot express; ask for temporary \
        credentials below a longer prefix, or for presigned URLs instead.
        """

    /// Returns why a grant that allows cannot be used for an action; `nil` if it can.
    private func failure(of grant: Grant, _ area: KeyArea, for action: Action) -> GatewayError? {
        guard circumstances.isDuring(grant) else {
            return .conditionFailed(.validity(of: grant, at: circumstances.now))
        }
        if let networks = grant.conditions.networks, !circumstances.isWithin(networks) {
            return .conditionFailed(.sourceAddress)
        }
        return switch form {
        case .credentials: failureOfCredentials(of: grant, area, for: action)
        case .cookies: failureOfCookies(of: grant, for: action)
        }
    }
}

extension Refusal {
    /// Returns this refusal with the action in its reason, if it has a reason: a session request may name several
    /// actions.
    fileprivate func about(_ action: Action) -> Refusal {
        guard case .notEnforceable(let reason) = error else { return self }
        return .unmet(.notEnforceable(reason: "\(action.rawValue): \(reason)"), of: grant)
    }
}
