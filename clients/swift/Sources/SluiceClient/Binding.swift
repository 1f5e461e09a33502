import Foundation

/// What links bind of the bytes. It is learned from refusals what grant and bucket need.
struct Binding: Sendable {
    var md5: Bool
    /// The app wants it.
    let sha256: Bool
    /// A refusal said that the bucket needs it.
    var needsSHA256 = false

    init(md5: Bool, sha256: Bool) {
        self.md5 = md5
        self.sha256 = sha256
    }

    var bindsSHA256: Bool { sha256 || needsSHA256 }
}

/// Bytes to send by one request: a file, or a part that was copied into a file of its own.
final class Piece: Sendable {
    let source: FileSource
    private let known: Locked<Digests>

    init(_ source: FileSource, known: Digests = Digests()) {
        self.source = source
        self.known = Locked(known)
    }

    /// What to bind, computed if it is not known.
    private func bound(by binding: Binding) async throws -> Bound {
        var digests = known.withLock { $0 }
        let found = try await source.digests(
            of: source.whole, md5: binding.md5 && digests.md5 == nil,
            sha256: binding.bindsSHA256 && digests.sha256 == nil)
        digests.md5 = digests.md5 ?? found.md5
        digests.sha256 = digests.sha256 ?? found.sha256
        known.withLock { [digests] in $0 = digests }
        return Bound(
            contentMD5: binding.md5 ? digests.md5?.base64EncodedString() : nil,
            checksumSHA256: binding.bindsSHA256 ? digests.sha256?.base64EncodedString() : nil,
            contentLength: source.size)
    }

    /// Asks for a link that binds the length, what the app wants, and what is required.
    func link(
        _ binding: Locked<Binding>, _ ask: @Sendable (Bound) async throws -> Sluice.Link
    ) async throws -> Sluice.Link {
        var hasLearned = false
        while true {
            let used = binding.withLock { $0 }
            do {
                return try await ask(try await bound(by: used))
            } catch let error as SluiceError {
                // Another part may have learned the same meanwhile, so it counts what this one has used.
                if error.status == 400, error.field == "checksumSHA256", !used.bindsSHA256 {
                    hasLearned = true
                    binding.withLock { $0.needsSHA256 = true }
                } else if error.condition == "requireContentMD5", !used.md5 {
                    binding.withLock { $0.md5 = true }
                } else if error.code == .notEnforceable, used.needsSHA256, !hasLearned {
                    // The bucket may have changed. If it still needs the SHA-256, it says so again.
                    binding.withLock { $0.needsSHA256 = false }
                } else {
                    throw error
                }
            }
        }
    }
}

/// Members of a request for a link.
struct Bound: Sendable {
    let contentMD5: String?
    let checksumSHA256: String?
    let contentLength: Int64
}
