/// How a part is sent, as far as this launch knows.
struct PartSending: Sendable {
    /// Identifies the session's task that sends it.
    var task: Int?
    /// How often it was refused or lost.
    var attempts = 0
    /// How often it was refused after the end of its link.
    var expiries = 0
    /// When the link of the newest task ends.
    var linkEnd: ContinuousClock.Instant?

    /// Notes that the task has ended without success. One that was refused after the end of its link is no attempt.
    mutating func fail(_ status: Int?, at now: ContinuousClock.Instant) {
        task = nil
        // Stores refuse an expired link with one of these.
        let isExpiry = [400, 401, 403].contains(status) && (linkEnd.map { $0 <= now } ?? false)
        if isExpiry { expiries += 1 } else { attempts += 1 }
    }
}
