/// The refusal of a principal that sends requests too fast.
struct RateRefusal: Sendable, Equatable {
    /// Name of the limit, as in the `RateLimit` fields.
    let name: String
    /// Largest number of requests at once.
    let burst: Int
    /// Seconds after which that many are allowed again.
    let window: Int
    /// Number of requests that are allowed now.
    let remaining: Int
    /// Seconds until enough requests are allowed.
    let retryAfter: Int
}
