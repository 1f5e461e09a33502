import Synchronization

/// One token bucket for each principal, in the memory of this process.
///
/// A bucket is one number, the time at which it will be full again. A full bucket is the same as none, so for each new
/// bucket up to two full ones are forgotten, those used longest ago: memory is for the callers of the last seconds, not
/// for all there ever were. The type is in this module so that ``LeastRecentlyUsed`` is compiled for its
/// keys: every request takes a token, and used from another module that took 4,300 more instructions, of 195,000.
package final class TokenBuckets: Sendable {
    private final class Shard: Sendable {
        /// The time at which each bucket is full.
        let fullAt: Mutex<LeastRecentlyUsed<Principal, Int64>>

        init(maxPrincipals: Int) {
            fullAt = Mutex(LeastRecentlyUsed(maxCount: maxPrincipals, maxCost: .max))
        }
    }

    private static let shardCount = 16

    private let shards: [Shard]

    /// Makes full buckets.
    ///
    /// - Parameter maxPrincipals: Approximate number of buckets that are remembered.
    package init(maxPrincipals: Int) {
        shards = (0..<Self.shardCount).map { _ in Shard(maxPrincipals: max(1, maxPrincipals / Self.shardCount)) }
    }

    /// Takes from a principal's bucket, or leaves it as it is. All values are times in one unit.
    ///
    /// - Parameters:
    ///   - cost: The time in which what is taken returns.
    ///   - needed: The time in which what must be there returns, at most `cost`. The bucket owes the rest.
    ///   - capacity: The time in which an empty bucket becomes full.
    ///   - principal: The owner of the bucket.
    ///   - now: The time of the request.
    /// - Returns: When the bucket would have been full, had nothing been taken. It was taken if that is no later than
    ///   `now + capacity - needed`.
    package func take(_ cost: Int64, needed: Int64, of capacity: Int64, from principal: Principal, at now: Int64)
        -> Int64
    {
        let shard = shards[Int(UInt(bitPattern: principal.hashValue) % UInt(Self.shardCount))]
        return shard.fullAt.withLock { buckets in
            let known = buckets.withValue(for: principal) { fullAt in
                let known = max(fullAt, now)
                if known + needed <= now + capacity { fullAt = known + cost }
                return known
            }
            if let known { return known }
            for _ in 0..<2 { buckets.removeOldest { $0 <= now } }
            buckets.insert(now + cost, for: principal, cost: 1)
            return now
        }
    }
}
