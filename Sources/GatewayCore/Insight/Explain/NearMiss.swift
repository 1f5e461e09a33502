import FoundationEssentials

/// An allow grant that would match if exactly one thing were different.
public struct NearMiss: Sendable, Equatable {
    /// The mismatch, least severe first.
    public enum Flaw: Int, Sendable, Comparable {
        /// The grant covers key and caller, but permits another action.
        case action
        /// The grant covers key and action, but is for another principal.
        case principal
        /// The grant covers caller and action, but a variable of its template has no value that is usable in a key.
        case template
        /// The grant covers caller and action, but other keys.
        case prefix

        /// Orders flaws by severity, least severe first.
        public static func < (left: Flaw, right: Flaw) -> Bool { left.rawValue < right.rawValue }
    }

    /// Maximum number of near misses listed.
    public static let maxCount = 10

    /// The grant as stored.
    public var grant: Grant
    /// The prefix of the grant, with variables filled in for the caller; as stored if one has no usable value.
    public var prefix: ExactText
    /// The one mismatch.
    public var flaw: Flaw
    /// Number of leading bytes that its prefix and the key have in common.
    var sharedByteCount: Int

    /// Compares a grant with a request; `nil` if the grant matches or has more than one mismatch.
    init?(
        _ grant: Grant, to request: IssueRequest, for subject: Subject, who principals: Set<Principal>
    ) {
        guard grant.effect == .allow, grant.bucket == request.bucket else { return nil }
        let key = request.key.rawValue.utf8
        let isForCaller = principals.contains(grant.principal)
        let permitsAction = grant.actions.contains(request.action)
        let expanded = grant.expandedPrefix(for: subject)
        let covers = grant.prefix.matchedByteCount(of: request.key, for: subject) != nil
        let flaws: [Flaw] = [
            permitsAction ? nil : .action, isForCaller ? nil : .principal,
            covers ? nil : expanded == nil ? .template : .prefix,
        ].compactMap(\.self)
        guard flaws.count == 1, let flaw = flaws.first else { return nil }
        let prefix = expanded ?? ExactText(grant.prefix.text)
        self.grant = grant
        self.prefix = prefix
        self.flaw = flaw
        sharedByteCount = zip(prefix.rawValue.utf8, key).prefix { $0 == $1 }.count
    }

    /// Returns the nearest misses among some grants, nearest first, at most ``maxCount``.
    static func nearest(
        _ grants: [Grant], to request: IssueRequest, for subject: Subject, who principals: [Principal]
    ) -> [NearMiss] {
        let who = Set(principals)
        var seen: Set<UUID> = []
        let misses = grants.compactMap { grant in
            seen.insert(grant.id).inserted ? NearMiss(grant, to: request, for: subject, who: who) : nil
        }
        return Array(misses.sorted(by: isNearer).prefix(maxCount))
    }

    private static func isNearer(_ left: NearMiss, _ right: NearMiss) -> Bool {
        if left.flaw != right.flaw { return left.flaw < right.flaw }
        if left.sharedByteCount != right.sharedByteCount { return left.sharedByteCount > right.sharedByteCount }
        return left.grant.id < right.grant.id
    }
}
