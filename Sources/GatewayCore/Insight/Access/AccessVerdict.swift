/// What a principal may do with one key, by one action.
///
/// The outcome sums up what ``decide(_:for:under:sourceAddress:now:)`` answers to the plain requests for a URL: those
/// that state their length, and ask for no version, no processing and no headers of the answer. Quotas count only where
/// the decision itself depends on them, not by what is left. The plain listing is that of all keys that begin with the
/// key, the narrowest that shows it.
public struct AccessVerdict: Sendable {
    /// What is answered to the requests.
    public enum Outcome: String, Sendable, CaseIterable {
        /// Each of them is permitted, whatever its content type, length and source address, and whatever the caller's
        /// token claims.
        case allowed
        /// Some are permitted, and some are refused.
        case conditional
        /// All of them are refused.
        case denied
    }

    /// What the answer depends on.
    public enum Condition: String, Sendable, CaseIterable {
        case contentTypes
        case maxBytes
        case requireContentMD5
        case sourceCIDRs
        /// The identity or the claims that fill a template.
        case template
    }

    /// The action.
    public var action: Action
    /// What is answered.
    public var outcome: Outcome
    /// Why the request that meets the fewest conditions is permitted or refused.
    public var reason: Explanation.Reason
    /// The grant that decides: if the outcome is `conditional`, about a request that is permitted; otherwise, about the
    /// request that meets the fewest conditions.
    public var decidedBy: Grant?
    /// What the answer depends on, if the outcome is `conditional`.
    public var conditions: Set<Condition> = []

    /// The verdict as an admin may see it: without the grant that decided, if that lies outside.
    func shown(within reach: AdminReach) -> AccessVerdict {
        var verdict = self
        if decidedBy?.isVisible(within: reach) == false { verdict.decidedBy = nil }
        return verdict
    }
}
