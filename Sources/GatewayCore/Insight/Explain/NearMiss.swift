import Foundation

/// A grant that allows and would match, were one thing different.
public struct NearMiss: Sendable, Equatable {
    /// What is different, the least first.
    public enum Flaw: Int, Sendable, Comparable {
        /// It covers key and caller, but another action.
        case action
        /// It covers key and action, but is for somebody else.
        case principal
        /// It covers caller and action, and a variable of its template has no value that can stand in a key.
        case template
        /// It covers caller and action, but other keys.
        case prefix

        /// The one that is less in the way.
        public static func < (left: Flaw, right: Flaw) -> Bool { left.rawValue < right.rawValue }
    }

    /// Most that are shown.
    public static let maxCount = 10

    /// The grant.
    public var grant: Grant
    /// What is different.
    public var flaw: Flaw
    /// How many bytes of the key its prefix shares.
    public var sharedByteCount: Int

    /// Looks at a grant; `nil` where it matches or where more than one thing is different.
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
        self.grant = grant
        self.flaw = flaw
        sharedByteCount = zip((expanded?.rawValue ?? grant.prefix.text).utf8, key).prefix { $0 == $1 }.count
    }

    /// The nearest of some grants, the nearest first.
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
