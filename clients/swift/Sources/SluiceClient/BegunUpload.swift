import Foundation

private let mostParts: Int64 = 10_000

/// An upload in parts that the gateway has started.
struct BegunUpload: Sendable {
    let id: String
    let key: String
    let partSize: Int64
    var tags: [Int: String] = [:]
    /// When its completion began.
    var completing: Date?

    /// Of a file of this size, with parts of at least `partSize`.
    init(_ upload: Sluice.PartsUpload, of size: Int64, partSize: Int64) {
        id = upload.id
        key = upload.key
        self.partSize = max(1, partSize, (size + mostParts - 1) / mostParts)
    }

    init?(_ state: TransferState?) {
        guard let state, let id = state.uploadID, let key = state.key, let partSize = state.partSize, partSize > 0
        else {
            return nil
        }
        self.id = id
        self.key = key
        self.partSize = partSize
        tags = state.tags ?? [:]
        completing = state.completing
    }

    var state: TransferState {
        TransferState(uploadID: id, key: key, partSize: partSize, tags: tags, completing: completing)
    }

    /// Whether its completion began in the hour before this time.
    func beganCompleting(inHourBefore now: Date) -> Bool {
        completing.map { (0..<3_600).contains(now.timeIntervalSince($0)) } ?? false
    }

    func count(of size: Int64) -> Int { Int((size + partSize - 1) / partSize) }

    /// The bytes of a part of a file of this size.
    func range(_ number: Int, of size: Int64) -> Range<Int64> {
        let start = Int64(number - 1) * partSize
        return start..<min(size, start + partSize)
    }
}
