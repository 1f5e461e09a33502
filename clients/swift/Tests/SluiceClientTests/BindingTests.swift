import Foundation
import Testing

@testable import SluiceClient

struct BindingTests {
    /// What the links bind that are asked for until one is answered.
    private func asked(
        _ binding: Locked<Binding>, refusal: @escaping @Sendable (Bound) -> SluiceError?
    ) async throws -> [String] {
        let link = try Coding.decode(
            Sluice.Link.self,
            from: Data(
                """
                {"id": "i", "method": "PUT", "bucket": "b", "key": "k", "url": "http://store/b/k", "headers": {}, \
                "expiresAt": "2030-05-17T09:30:00Z", "expiresIn": 60, "enforcedBy": "signature"}
                """.utf8))
        let all = Locked<[String]>([])
        try await withDirectory { directory in
            let piece = Piece(try FileSource(directory.file("piece", bytes(10))))
            do {
                _ = try await piece.link(binding) { bound in
                    let members = [
                        bound.contentMD5.map { _ in "md5" }, bound.checksumSHA256.map { _ in "sha256" },
                        "\(bound.contentLength)",
                    ]
                    all.withLock { $0.append(members.compactMap { $0 }.joined(separator: " ")) }
                    if let error = refusal(bound) { throw error }
                    return link
                }
            } catch is SluiceError {
                all.withLock { $0.append("refused") }
            }
        }
        return all.withLock { $0 }
    }

    private static let unenforceable = SluiceError(.gateway, .notEnforceable, status: 422)
    private static let missing = {
        var error = SluiceError(.gateway, .invalidArgument, status: 400)
        error.field = "checksumSHA256"
        return error
    }()

    @Test("a SHA-256 that was learned is dropped if it cannot be bound, and learned again if it is needed")
    func learned() async throws {
        let binding = Locked(Binding(md5: true, sha256: false))
        let strict = try await asked(binding) { $0.checksumSHA256 == nil ? Self.missing : nil }
        #expect(strict == ["md5 10", "md5 sha256 10"])
        let ordinary = try await asked(binding) { $0.checksumSHA256 == nil ? nil : Self.unenforceable }
        #expect(ordinary == ["md5 sha256 10", "md5 10"])
        let both = Locked(Binding(md5: true, sha256: false))
        both.withLock { $0.needsSHA256 = true }
        let refused = try await asked(both) { $0.checksumSHA256 == nil ? Self.missing : Self.unenforceable }
        #expect(refused == ["md5 sha256 10", "md5 10", "md5 sha256 10", "refused"])
    }

    @Test("a SHA-256 that the app wants is not dropped")
    func wanted() async throws {
        let tried = try await asked(Locked(Binding(md5: false, sha256: true))) { _ in Self.unenforceable }
        #expect(tried == ["sha256 10", "refused"])
    }
}
