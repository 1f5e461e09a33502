import Foundation
import Signing
import Testing

@testable import GatewayCore

/// The content of a permit: lifetime, bound headers, charges.
@Suite struct DecideLifeTests {
    struct Life: Sendable {
        var asked: Int?
        var bucketDefault = 900
        var bucketMax = 604_800
        var grantMax: Int?
        var grantEnd: TimeInterval?
        var denyStart: TimeInterval?
        var credentialEnd: TimeInterval?
        var expected: Int
        var origin: ExpiryOrigin
    }

    @Test(arguments: [
        Life(expected: 900, origin: .bucketDefault), Life(asked: 1, expected: 1, origin: .request),
        Life(asked: 604_800, expected: 604_800, origin: .request),
        Life(asked: 604_801, expected: 604_800, origin: .bucketMaxTTL),
        Life(asked: .max, bucketMax: .max, expected: 604_800, origin: .scheme),
        Life(asked: 60, grantMax: 60, expected: 60, origin: .request),
        Life(asked: 61, grantMax: 60, expected: 60, origin: .grantMaxTTL),
        Life(asked: 59, grantMax: 60, expected: 59, origin: .request),
        Life(grantMax: 60, expected: 60, origin: .grantMaxTTL),
        Life(bucketMax: 30, grantMax: 60, expected: 30, origin: .bucketMaxTTL),
        Life(grantEnd: 10.9, expected: 10, origin: .grantValidity),
        Life(denyStart: 10.9, expected: 10, origin: .denyStart), Life(denyStart: 1, expected: 1, origin: .denyStart),
        Life(grantEnd: 11, denyStart: 10.9, expected: 10, origin: .denyStart),
        Life(grantEnd: 10, denyStart: 11, expected: 10, origin: .grantValidity),
        Life(denyStart: 900, expected: 900, origin: .bucketDefault),
        Life(credentialEnd: 1, expected: 1, origin: .credential),
        Life(credentialEnd: 899.5, expected: 899, origin: .credential),
        Life(credentialEnd: 900, expected: 900, origin: .bucketDefault),
    ])
    func `the life is what was asked for, cut to the lowest limit`(life: Life) throws {
        let policy = try Fixture.policy(
            grants: [
                Fixture.grant(
                    1, conditions: GrantConditions(maxTTL: life.grantMax),
                    until: life.grantEnd.map(Fixture.now.addingTimeInterval)
                ),
                // Of several, the first to begin counts; one that is over does not.
                Fixture.grant(
                    2, to: "*", on: "", effect: .deny,
                    from: Fixture.now.addingTimeInterval(life.denyStart ?? 1_000_000)),
                Fixture.grant(3, effect: .deny, from: Fixture.now.addingTimeInterval(900_000)),
                Fixture.grant(4, effect: .deny, until: Fixture.now),
            ],
            bucket: Fixture.bucket(defaultTTL: life.bucketDefault, maxTTL: life.bucketMax),
            credential: Fixture.credential(endingAfter: life.credentialEnd)
        )
        let permit = try Fixture.decided(Fixture.get { $0.expiresIn = life.asked }, under: policy).permit
        #expect(permit.expiresIn == life.expected)
        #expect(permit.expiryOrigin == life.origin)
        #expect(permit.expiresAt == Fixture.now.addingTimeInterval(TimeInterval(life.expected)))
    }

    @Test(arguments: [0.999, 0, -1, -1_000_000_000])
    func `a credential that ends within the second signs nothing`(end: TimeInterval) throws {
        let policy = try Fixture.policy(grants: [Fixture.grant(1)], credential: Fixture.credential(endingAfter: end))
        #expect(try Fixture.decided(Fixture.get(), under: policy).error == .unavailable(retryAfter: 60))
    }

    @Test func `a bucket without its credential signs nothing`() throws {
        let policy = try Fixture.policy(grants: [Fixture.grant(1)], credential: .some(nil))
        #expect(try Fixture.decided(Fixture.get(), under: policy).error == .unavailable(retryAfter: 60))
    }

    @Test func `the signature is dated by the whole second, so that no limit is passed`() throws {
        let policy = try Fixture.policy(
            grants: [Fixture.grant(1)], credential: Fixture.credential(endingAfter: 100)
        )
        let permit = try Fixture.decided(
            Fixture.get(), under: policy, at: Fixture.now.addingTimeInterval(0.9)
        ).permit
        #expect(permit.signedAt == Fixture.now)
        #expect(permit.expiresAt == Fixture.now.addingTimeInterval(100))
    }

    @Test func `an upload binds every header that was stated`() throws {
        let request = try Fixture.put(type: "text/plain; charset=utf-8", length: 0) { fields in
            fields.contentMD5 = "AAAAAAAAAAAAAAAAAAAAAA=="
            fields.checksumSHA256 = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
            fields.metadata = ["Owner": "me"]
            fields.ifNoneMatch = "*"
        }
        let permit = try Fixture.decided(request, under: Fixture.policy(grants: [Fixture.grant(1)])).permit
        #expect(
            permit.headers == [
                NamedValue("content-type", "text/plain; charset=utf-8"),
                NamedValue("content-md5", "AAAAAAAAAAAAAAAAAAAAAA=="), NamedValue("content-length", "0"),
                NamedValue("x-amz-checksum-sha256", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
                NamedValue("x-amz-meta-owner", "me"), NamedValue("if-none-match", "*"),
            ]
        )
        #expect(permit.enforcedBy == .signature)
        #expect(permit.query.isEmpty)
    }

    @Test func `a download binds its response's headers in the query`() throws {
        let request = try Fixture.get { fields in
            fields.method = "HEAD"
            fields.response = overrides {
                $0.cacheControl = "no-store"
                $0.contentEncoding = "gzip"
                $0.contentLanguage = "ja"
                $0.expires = "0"
                $0.filename = "x"
            }
        }
        let permit = try Fixture.decided(request, under: Fixture.policy(grants: [Fixture.grant(1)])).permit
        #expect(permit.headers.isEmpty)
        #expect(permit.query.map(\.name).sorted() == permit.query.map(\.name))
        #expect(permit.query.count == 5)
        #expect(permit.enforcedBy == .none)
    }

    @Test func `nobody enforces a size that was not stated`() throws {
        let permit = try Fixture.decided(Fixture.put(), under: Fixture.policy(grants: [Fixture.grant(1)])).permit
        #expect(permit.enforcedBy == .none)
        #expect(permit.reservedBytes == nil)
    }

    @Test func `every quota that applies is charged, each to its holder`() throws {
        let quotas = try [
            Fixture.quota(1), Fixture.quota(2, for: "group:staff"), Fixture.quota(3, for: "*", sharing: .shared),
            Fixture.quota(4, bucket: "other-bucket"), Fixture.quota(5, action: .getObject),
            Fixture.quota(6, action: .putObject, metric: .bytes),
            Fixture.quota(7, for: "*", metric: .bytes, sharing: .shared),
            Fixture.quota(8, for: "user:bob"), Fixture.quota(9, bucket: "demo-bucket", action: .putObject),
        ]
        let policy = try Fixture.policy(grants: [Fixture.grant(1)], quotas: quotas)
        let upload = try Fixture.decided(Fixture.put(length: 77), under: policy).permit
        #expect(upload.charges.map(\.quota.id) == [1, 2, 3, 6, 7, 9].map(Fixture.id))
        #expect(upload.charges.map(\.amount) == [1, 1, 1, 77, 77, 1])
        #expect(
            upload.charges.map(\.holder.rawValue)
                == ["user:alice", "user:alice", "*", "user:alice", "*", "user:alice"]
        )
        #expect(upload.reservedBytes == 77)
        let download = try Fixture.decided(Fixture.get(), under: policy).permit
        #expect(download.charges.map(\.quota.id) == [1, 2, 3, 5].map(Fixture.id))
        #expect(download.reservedBytes == nil)
    }

    @Test func `a byte quota wants the length, and reserves nothing for nothing`() throws {
        let policy = try Fixture.policy(
            grants: [Fixture.grant(1)], quotas: [Fixture.quota(1, for: "group:staff", metric: .bytes)]
        )
        #expect(try Fixture.decided(Fixture.put(), under: policy).error == .conditionFailed(.contentLengthRequired))
        #expect(try Fixture.decided(Fixture.put(length: 0), under: policy).permit.charges.map(\.amount) == [0])
        #expect(try Fixture.decided(Fixture.get(), under: policy).permit.charges.isEmpty)
    }
}
