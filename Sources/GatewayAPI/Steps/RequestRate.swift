import GatewayCore

/// Limits how often each principal may do something, with one token bucket per principal in the memory of this process.
///
/// With the number of principals that are remembered, forgetting a bucket forgives only fractions of a second.
final class RequestRate: Sendable {
    private let name: String
    private let burst: Int
    /// Nanoseconds in which one token returns.
    private let period: Int64
    private let origin: ContinuousClock.Instant
    /// Times are nanoseconds since the origin.
    private let buckets: TokenBuckets

    /// Makes full buckets.
    ///
    /// - Parameters:
    ///   - name: Name of the limit, in a form that a structured field can hold.
    ///   - perSecond: Tokens that return per second, 1 to 1,000,000.
    ///   - burst: Tokens that a full bucket holds.
    ///   - maxPrincipals: Approximate number of buckets that are remembered.
    ///   - origin: An instant before the first use.
    init(
        _ name: String, perSecond: Int, burst: Int, maxPrincipals: Int = 1 << 17, from origin: ContinuousClock.Instant
    ) {
        precondition(1...1_000_000 ~= perSecond && burst > 0, "Nothing would ever be admitted.")
        self.name = name
        self.burst = burst
        period = 1_000_000_000 / Int64(perSecond)
        self.origin = origin
        buckets = TokenBuckets(maxPrincipals: maxPrincipals)
    }

    /// Takes tokens from a principal's bucket, all or none; never more than it can hold. Where the count is more than
    /// half of that, half is enough, and the bucket owes the rest. Otherwise large requests would seldom succeed while
    /// the same principal sends others: the bucket is then seldom full.
    ///
    /// - Parameters:
    ///   - count: Number of tokens.
    ///   - taken: Tokens that the same request has taken before.
    ///   - principal: The owner of the bucket.
    ///   - instant: The time of the request.
    /// - Throws: ``APIError/tooManyRequests(_:)``.
    func take(
        _ count: Int = 1, after taken: Int = 0, from principal: Principal, at instant: ContinuousClock.Instant
    ) throws(APIError) {
        let cost = Int64(min(count, burst - taken)) * period
        guard cost > 0 else { return }
        let needed = min(cost, Int64((burst + 1) / 2) * period)
        let now = (instant - origin).nanoseconds
        let latest = now + Int64(burst) * period
        let fullAt = buckets.take(cost, needed: needed, of: latest - now, from: principal, at: now)
        guard fullAt + needed > latest else { return }
        let second: Int64 = 1_000_000_000
        throw .tooManyRequests(
            RateRefusal(
                name: name, burst: burst, window: Int((Int64(burst) * period + second - 1) / second),
                remaining: Int(max(0, latest - fullAt) / period),
                retryAfter: Int((fullAt + needed - latest + second - 1) / second)))
    }
}
