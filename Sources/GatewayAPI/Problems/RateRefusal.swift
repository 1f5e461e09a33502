/// The answer to a principal that sends requests faster than it may.
struct RateRefusal: Sendable, Equatable {
    /// What is counted, as in the `RateLimit` fields.
    let name: String
    /// Most requests at once.
    let burst: Int
    /// Seconds after which as many are allowed again.
    let window: Int
    /// Requests that are allowed now.
    let remaining: Int
    /// Seconds until enough are allowed.
    let retryAfter: Int
}
