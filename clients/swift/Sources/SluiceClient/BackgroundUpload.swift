/// An upload as it is kept in its directory.
struct BackgroundUpload: Codable, Sendable {
    var state: TransferState
    let bucket: String
    let size: Int64
    let count: Int
    /// What the links of this upload bind. A later launch learns it again.
    let binding = Locked(Binding(md5: true, sha256: false))

    private enum CodingKeys: String, CodingKey {
        case state, bucket, size, count
    }

    var tags: [Int: String] { state.tags ?? [:] }
    var isWhole: Bool { tags.count == count }

    func length(_ number: Int) -> Int64 {
        let range = BegunUpload(state)?.range(number, of: size) ?? 0..<0
        return range.upperBound - range.lowerBound
    }
}

/// How a part is sent, as far as this launch knows.
struct Sending: Sendable {
    /// Identifies the session's task that sends it.
    var task: Int?
    /// How often it was refused or lost.
    var attempts = 0
    /// When the link of the newest task ends.
    var linkEnd: ContinuousClock.Instant?

    /// Notes that the task has ended without success. One that was refused after the end of its link is no attempt.
    mutating func fail(_ status: Int?, at now: ContinuousClock.Instant) {
        task = nil
        // Stores refuse an expired link with one of these.
        let isExpiry = [400, 401, 403].contains(status) && (linkEnd.map { $0 <= now } ?? false)
        if !isExpiry { attempts += 1 }
    }
}
