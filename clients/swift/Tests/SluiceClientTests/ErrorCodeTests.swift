import Foundation
import Testing

@testable import SluiceClient

struct ErrorCodeTests {
    /// The codes of `openapi/problems.md`.
    private static func documented() throws -> Set<String> {
        let root = URL(fileURLWithPath: #filePath).pathComponents.dropLast(5).joined(separator: "/").dropFirst()
        let page = try String(contentsOfFile: "\(root)/openapi/problems.md", encoding: .utf8)
        var codes: Set<String> = []
        for section in page.components(separatedBy: "\n## ").dropFirst() {
            // A section begins with the status and the codes: 404 `NoSuchBucket`, `NoSuchGrant` or `NoSuchTicket`.
            let text = section.drop { $0 != "\n" }.prefix { $0 != "." }
            codes.formUnion(
                text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                    .filter { $0.offset % 2 == 1 }.map { String($0.element) })
        }
        return codes
    }

    @Test("every code that the gateway has is a case, and every case has its name")
    func codes() throws {
        let documented = try Self.documented()
        #expect(documented.count > 35)
        let own: Set = ["NetworkError", "FileChanged", "Mismatch"]
        #expect(Set(ErrorCode.codes.keys) == documented.union(own))
        for name in documented {
            #expect(ErrorCode(name).name == name)
            #expect(ErrorCode(name) != .unknown(name))
        }
        #expect(ErrorCode("NoSuchKey") == .unknown("NoSuchKey"))
        #expect(ErrorCode("NoSuchKey").name == "NoSuchKey")
    }

    @Test("states and answers are read")
    func values() throws {
        let state = TransferState(uploadID: "i", key: "k", partSize: 5, tags: [1: "a", 10: "b"])
        let decoded = try JSONDecoder().decode(TransferState.self, from: JSONEncoder().encode(state))
        #expect(decoded == state)
        let upload = try Coding.decode(
            Sluice.PartsUpload.self,
            from: Data(
                """
                {"id": "i", "bucket": "b", "key": "k", "contentType": "t", "state": "open",
                 "createdAt": "2030-05-17T08:30:00.25Z", "expiresAt": "2030-05-17T08:30:00Z"}
                """.utf8))
        #expect(upload.createdAt.timeIntervalSince(upload.expiresAt) == 0.25)
    }

    @Test("digests of a range are those of its bytes")
    func digests() async throws {
        try await withDirectory { directory in
            let source = try FileSource(directory.file("abc", Data("--abc--".utf8)))
            let found = try await source.digests(of: 2..<5, md5: true, sha256: true)
            // RFC 1321, A.5, and FIPS 180-4.
            #expect(found.md5?.hexadecimal == "900150983cd24fb0d6963f7d28e17f72")
            #expect(
                found.sha256?.hexadecimal == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        }
    }
}
