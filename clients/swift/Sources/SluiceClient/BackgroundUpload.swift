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
