import Foundation
import LibCrypto
import Testing

@testable import GatewayCore

@Suite struct RefusalNoteTests {
    @Test(arguments: [
        ("a", ""), ("team/a", "team/"), ("team/b/c", "team/b/"), ("team/b/", "team/b/"),
        (String(repeating: "é", count: 63) + "/b/c", String(repeating: "é", count: 63) + "/"),
        (String(repeating: "x", count: 127) + "/b", String(repeating: "x", count: 127) + "/"),
        (String(repeating: "x", count: 128) + "/b", ""),
    ])
    func `a key is kept as its folder, in whole segments, and its digest`(key: String, prefix: String) throws {
        let target = RefusalTarget(.getObject, on: key, in: try BucketName("photos"))
        #expect(target.keyPrefix == prefix && target.keyPrefix.utf8.count <= RefusalTarget.maxPrefixBytes)
        #expect(target.keySHA256 == DigestAlgorithm.sha256.digest(of: key).bytes)
    }

    /// Whether the ticket covers the key, a grant covers it, a deny does, and the bucket exists.
    @Test func `a refusal is the ticket's only where the ticket does not cover the request`() throws {
        let bucket = try BucketName("demo-bucket")
        let ticket = Ticket(
            id: Fixture.id(77), name: "abcdefghijkl", hash: DigestAlgorithm.sha256.digest(of: "0"),
            principal: try Principal("user:alice"), groups: [], claims: [:], issuedOn: nil, bucket: bucket,
            prefix: ExactText("team/a/"), actions: [.getObject], maxUses: 5,
            expiresAt: Fixture.now.addingTimeInterval(60), createdAt: Fixture.now)
        let allow = try Fixture.sessionGrant(1, on: "team/")
        let deny = try Fixture.grant(2, on: "team/", effect: .deny)
        let cases: [(key: String, grants: [Grant], isThere: Bool, hasTicket: Bool, reason: RefusalReason?)] = [
            ("team/a/x", [allow], true, true, nil), ("team/a/x", [], true, true, .noGrant),
            ("team/a/x", [allow, deny], true, true, .deniedByGrant), ("team/b/x", [allow], true, true, .outsideTicket),
            ("team/b/x", [], true, true, .outsideTicket), ("team/b/x", [allow, deny], true, true, .outsideTicket),
            ("team/a/x", [allow], false, true, .noSuchBucket), ("team/b/x", [allow], false, true, .noSuchBucket),
            ("team/b/x", [allow], true, false, nil), ("team/b/x", [], true, false, .noGrant),
        ]
        for (key, grants, isThere, hasTicket, reason) in cases {
            let subject = Subject(principal: ticket.principal, ticket: hasTicket ? ticket : nil)
            let policy =
                isThere ? try Fixture.policy(grants: grants) : try Fixture.policy(grants: grants, bucket: .some(nil))
            let target = RefusalTarget(.getObject, on: key, in: bucket)
            func told(_ refusal: Refusal) -> RefusalReason {
                RefusalNote(refusal, target).reason
            }
            let about = "\(key) \(grants.count) \(isThere) \(hasTicket)"
            switch decide(
                try Fixture.get(key), for: subject, under: policy, sourceAddress: nil, now: Fixture.now)
            {
            case .permit: #expect(reason == nil, "\(about)")
            case .refuse(let refusal): #expect(told(refusal) == reason, "\(about)")
            }
            // A session below the key's folder is refused for the same reason.
            let session = try SessionRequest(
                bucket: bucket, prefix: String(key.dropLast()), actions: [.getObject], duration: nil)
            switch decideSession(session, for: subject, under: policy, sourceAddress: nil, now: Fixture.now) {
            case .permit: #expect(reason == nil, "session \(about)")
            case .refuse(let refusal): #expect(told(refusal) == reason, "session \(about)")
            }
        }
    }

    @Test func `a long subject is cut between characters`() {
        let note = RefusalNote(code: "x", .failed, subject: String(repeating: "é", count: 200))
        #expect(note.subject == String(repeating: "é", count: 128))
        #expect(RefusalNote(code: "x", .failed, subject: "").subject == nil)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"), ("0.0.0.0", "0.0.0.0"), ("::ffff:192.0.2.1", "192.0.2.1"), ("::", "::"),
        ("::1", "::1"), ("2001:db8:0:0:0:0:0:1", "2001:db8::1"), ("2001:db8:0:1:0:0:0:0", "2001:db8:0:1::"),
        ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
        ("FE80::A", "fe80::a"),
    ])
    func `addresses have their canonical text`(text: String, canonical: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.description == canonical)
        #expect(IPAddress(address.description) == address)
    }

    @Test func `only an admin reads the phrase of a cause`() {
        let cause = Cause("10.0.0.1 refuses", advice: "Ask an admin.")
        #expect(cause.detail(for: .user) == "Ask an admin.")
        #expect(cause.detail(for: .admin) == "Ask an admin. The cause: 10.0.0.1 refuses.")
        #expect(Cause("10.0.0.1 refuses").detail(for: .user) == nil)
        #expect(Cause.unstated.detail(for: .admin) == nil)
    }

    @Test func `an identifier of the gateway holds its time, one of a proxy does not`() {
        let time = Date(timeIntervalSince1970: 1_900_000_000.25)
        let id = UUID.version7(at: time, randomBytes: Array(1...10)).lowercaseText
        #expect(RequestHistory.instant(in: id) == time)
        #expect(
            RequestHistory.instant(in: UUID(uuidString: "0191d7f0-0000-4000-8000-000000000001")!.lowercaseText) == nil)
        #expect(RequestHistory.instant(in: "0123456789abcdef0123456789abcdef") == nil)
    }
}
