import Foundation
import Testing

@testable import GatewayCore

/// What the store's answer proves about an upload that can no longer happen.
@Suite struct StoreLookTests {
    private static let permittedAt = Date(timeIntervalSince1970: 1_900_000_000)

    private func proof(
        size: Int64 = 5, age: TimeInterval?, etag: String? = "0123456789abcdef0123456789abcdef"
    ) -> StoreLook.Proof? {
        let modifiedAt = age.map { Self.permittedAt.addingTimeInterval(-$0) }
        let object = StoredObject(size: size, etag: etag, modifiedAt: modifiedAt)
        return StoreLook(object: object, clockDifference: 0).proof(against: Self.permittedAt, maxClockDifference: 5)
    }

    @Test func `nothing under the key proves that nothing came, unless something was deleted there`() {
        let nothing = StoreLook(object: nil, clockDifference: 0)
        #expect(nothing.proof(against: Self.permittedAt, maxClockDifference: 5) == .absent)
        let deleted = StoreLook(object: nil, wasDeleted: true, clockDifference: 0)
        #expect(deleted.proof(against: Self.permittedAt, maxClockDifference: 5) == nil)
    }

    @Test(arguments: [
        (6.001, StoreLook.Proof.older), (6, nil), (5.999, nil), (0, nil), (-1, nil), (-86_400, nil), (86_400, .older),
    ])
    func `an object is older by more than a second and what the clocks may differ`(
        age: TimeInterval, expected: StoreLook.Proof?
    ) {
        for size in [Int64(0), 5, 5 << 30] { #expect(proof(size: size, age: age) == expected) }
    }

    @Test func `the age of an object in parts, or of one without a time or a tag, proves nothing`() {
        #expect(proof(age: 86_400, etag: "0123456789abcdef0123456789abcdef-2") == nil)
        #expect(proof(age: 86_400, etag: nil) == nil)
        #expect(proof(age: nil) == nil)
    }
}
