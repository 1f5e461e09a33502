import Foundation
import GatewayCore
import Synchronization
import Testing

@Suite struct BucketChangesTests {
    private static let secret = Secret("not-a-secret")

    private let buckets = Rows<Bucket>(.bucket) { $0.name.rawValue }
    private let credentials = Rows<StorageCredential>(.storageCredential) { $0.id.lowercaseText }
    private let use = CredentialUses()

    private var changes: BucketChanges {
        BucketChanges(buckets: buckets, credentials: credentials, dependency: use)
    }

    private func change(
        by name: String = "admin", with credential: PolicyScope? = .issuer("https://id.example")
    ) throws -> ChangeContext {
        ChangeContext(actor: try .user(name), requestID: "request-1", credential: credential)
    }

    /// Changes that the maker of a credential does not make: by another name, or by the same name with another
    /// credential, as any admin can make one.
    private func changesOfOthers() throws -> [ChangeContext] {
        [
            try change(by: "eve"), try change(with: .apiKey(prefix: "abcdefghij01")),
            try change(with: .issuer("https://eve.example")), try change(with: nil),
        ]
    }

    private func setMaker() throws {
        use.set(soleMaker: CredentialUse.Maker(actor: try .user("admin"), credential: .issuer("https://id.example")))
    }

    private func addCredential() async throws {
        _ = try await credentials.create(Fixture.credential(), by: change())
    }

    private func addBucket() async throws -> Stored<Bucket> {
        try await buckets.create(Fixture.bucket(), by: change())
    }

    private static let missing = GatewayError.invalidArgument(
        field: "secretAccessKey",
        reason: "The credential does not yet sign for this endpoint, so its secret is "
            + "required.")
    private static let wrong = GatewayError.invalidArgument(
        field: "secretAccessKey", reason: "This is not the secret of the credential.")

    @Test func `a new bucket shows the secret of its credential`() async throws {
        try await addCredential()
        let bucket = try Fixture.bucket()
        await #expect(throws: Self.missing) { try await changes.create(bucket, showing: ShownSecrets(), by: change()) }
        for text in ["", "not-a-secre", "not-a-secret ", "Not-a-secret"] {
            await #expect(throws: Self.wrong) {
                try await changes.create(bucket, showing: ShownSecrets(secretAccessKey: Secret(text)), by: change())
            }
        }
        #expect(buckets.count == 0)
        let made = try await changes.create(bucket, showing: ShownSecrets(secretAccessKey: Self.secret), by: change())
        #expect(made.row == bucket && buckets.count == 1)
    }

    @Test func `nothing is shown for an endpoint that the credential signs for`() async throws {
        try await addCredential()
        use.set("https://s3.example.com")
        _ = try await changes.create(Fixture.bucket(), showing: ShownSecrets(), by: change())
        let elsewhere = try Fixture.bucket("other", endpoint: "https://mine.example")
        await #expect(throws: Self.missing) {
            try await changes.create(elsewhere, showing: ShownSecrets(), by: change())
        }
    }

    @Test func `nothing is shown by the one who entered the secret of an unused credential`() async throws {
        try await addCredential()
        try setMaker()
        let bucket = try Fixture.bucket()
        for change in try changesOfOthers() {
            await #expect(throws: Self.missing) {
                try await changes.create(bucket, showing: ShownSecrets(), by: change)
            }
        }
        _ = try await changes.create(bucket, showing: ShownSecrets(), by: change())
    }

    @Test func `a bucket moves only with the secret, and changes otherwise without`() async throws {
        try await addCredential()
        let old = try await addBucket()
        var row = old.row
        row.endpoint = "HTTPS://s3.example.com:443"
        row.maxTTL = 1000
        let same = try await changes.update(row, over: old, showing: ShownSecrets(), by: change())
        #expect(same.endpoint == "https://s3.example.com" && same.maxTTL == 1000)
        row.endpoint = "https://mine.example"
        await #expect(throws: Self.missing) {
            try await changes.update(row, over: same, showing: ShownSecrets(), by: change())
        }
        let moved = try await changes.update(
            row, over: same, showing: ShownSecrets(secretAccessKey: Self.secret), by: change())
        #expect(moved.endpoint == "https://mine.example")
        await #expect(throws: GatewayError.preconditionFailed) {
            try await changes.update(row, over: old, showing: ShownSecrets(secretAccessKey: Self.secret), by: change())
        }
    }

    @Test func `a public endpoint is an endpoint like any other`() async throws {
        try await addCredential()
        let old = try await addBucket()
        var row = old.row
        row.publicEndpoints[.cdn] = PublicEndpoint(url: "https://Mine.example:443")
        await #expect(throws: Self.missing) {
            try await changes.update(row, over: old, showing: ShownSecrets(), by: change())
        }
        await #expect(throws: Self.wrong) {
            try await changes.update(
                row, over: old, showing: ShownSecrets(secretAccessKey: Secret("another")), by: change())
        }
        let shown = try await changes.update(
            row, over: old, showing: ShownSecrets(secretAccessKey: Self.secret), by: change())
        #expect(shown.publicEndpoints == [.cdn: PublicEndpoint(url: "https://mine.example")])
        // What signs for an address may do so under another name, and for fewer addresses.
        row.publicEndpoints = [.default: PublicEndpoint(url: "https://mine.example", addressing: .cname)]
        let renamed = try await changes.update(row, over: shown, showing: ShownSecrets(), by: change())
        row.endpoint = "https://mine.example"
        row.publicEndpoints = [:]
        _ = try await changes.update(row, over: renamed, showing: ShownSecrets(), by: change())
    }

    @Test func `another credential shows its own secret, and has to exist`() async throws {
        try await addCredential()
        let old = try await addBucket()
        var other = Fixture.credential()
        other.id = Fixture.id(501)
        other.secretAccessKey = Secret("another-secret")
        _ = try await credentials.create(other, by: change())
        var row = old.row
        row.credentialID = other.id
        await #expect(throws: Self.missing) {
            try await changes.update(row, over: old, showing: ShownSecrets(), by: change())
        }
        await #expect(throws: Self.wrong) {
            try await changes.update(row, over: old, showing: ShownSecrets(secretAccessKey: Self.secret), by: change())
        }
        _ = try await changes.update(
            row, over: old, showing: ShownSecrets(secretAccessKey: Secret("another-secret")), by: change())
        row.credentialID = Fixture.id(502)
        await #expect(throws: GatewayError.conflict(reason: "The credential does not exist.")) {
            try await changes.update(row, over: old, showing: ShownSecrets(secretAccessKey: Self.secret), by: change())
        }
    }

    private func addKey(
        _ number: Int, _ kind: StorageCredential.Kind = .accessKey, secret: String = "shared-secret"
    ) async throws {
        var key = Fixture.credential()
        (key.id, key.name, key.kind, key.secretAccessKey) = (
            Fixture.id(number), "k\(number)", kind, Secret(secret)
        )
        _ = try await credentials.create(key, by: change())
    }

    private static func cdn(
        _ number: Int, _ scheme: CDNSigning.Scheme = .nginxSecureLink, at url: String = "https://cdn.example"
    ) -> PublicEndpoint {
        PublicEndpoint(url: url, signing: CDNSigning(scheme: scheme, credentialID: Fixture.id(number)))
    }

    private static let missingForCDN = GatewayError.invalidArgument(
        field: "cdnSecret",
        reason: "The credential does not yet sign for this CDN and bucket, so its secret is required.")

    @Test func `a CDN shows the secret of its own credential, also where that signs for another bucket`() async throws {
        try await addCredential()
        try await addKey(600)
        let old = try await addBucket()
        var row = old.row
        row.publicEndpoints[.cdn] = Self.cdn(600)
        // Links to a CDN do not name the bucket: what signs for it elsewhere reads that other bucket.
        use.set("https://cdn.example")
        await #expect(throws: Self.missingForCDN) {
            try await changes.update(row, over: old, showing: ShownSecrets(secretAccessKey: Self.secret), by: change())
        }
        await #expect(
            throws: GatewayError.invalidArgument(
                field: "cdnSecret", reason: "This is not the secret of the credential.")
        ) {
            try await changes.update(row, over: old, showing: ShownSecrets(cdnSecret: Self.secret), by: change())
        }
        let shown = ShownSecrets(cdnSecret: Secret("shared-secret"))
        let stored = try await changes.update(row, over: old, showing: shown, by: change())
        // The same again, and with other options, without the secret.
        row.maxTTL = 1000
        let again = try await changes.update(row, over: stored, showing: ShownSecrets(), by: change())
        row.publicEndpoints[.cdn]?.signing?.scheme = .alibabaA
        row.publicEndpoints[.cdn]?.signing?.validity = 60
        let other = try await changes.update(row, over: again, showing: ShownSecrets(), by: change())
        for move in [
            { $0.url = "https://other.example" }, { $0.addressing = .path },
        ] as [(inout PublicEndpoint) -> Void] {
            var moved = row
            var place = Self.cdn(600, .alibabaA)
            move(&place)
            moved.publicEndpoints[.cdn] = place
            await #expect(throws: Self.missingForCDN) {
                try await changes.update(moved, over: other, showing: ShownSecrets(), by: change())
            }
        }
        // The store's credential would sign for the address of the CDN.
        var plain = row
        plain.publicEndpoints[.cdn]?.signing = nil
        use.set(nil)
        await #expect(throws: Self.missing) {
            try await changes.update(plain, over: other, showing: ShownSecrets(), by: change())
        }
    }

    @Test func `a CDN's credential is of the scheme's kind, and exists`() async throws {
        try await addCredential()
        try await addKey(600)
        try await addKey(601, .keyPair, secret: "pem")
        let old = try await addBucket()
        func refusal(_ number: Int, _ scheme: CDNSigning.Scheme, _ secret: String) async throws -> GatewayError? {
            var row = old.row
            row.publicEndpoints[.cdn] = Self.cdn(number, scheme)
            do throws(GatewayError) {
                let shown = ShownSecrets(cdnSecret: Secret(secret))
                _ = try await changes.update(
                    row, over: old, showing: shown, by: ChangeContext(actor: .anyone, requestID: "r"))
                return nil
            } catch {
                return error
            }
        }
        for (number, scheme, secret) in [
            (600, .cloudFront, "shared-secret"), (601, .nginxSecureLink, "pem"), (601, .alibabaA, "pem"),
        ] as [(Int, CDNSigning.Scheme, String)] {
            guard
                case .invalidArgument("publicEndpoints.cdn.signing.credentialID", _) = try await refusal(
                    number, scheme, secret)
            else {
                Issue.record("\(scheme) takes a credential of another kind")
                continue
            }
        }
        let absent = try await refusal(602, .cloudFront, "x")
        #expect(absent == .conflict(reason: "The credential does not exist."))
        let good = try await refusal(601, .cloudFront, "pem")
        #expect(good == nil)
    }

    @Test func `whoever entered an unused key names it for a CDN without showing it`() async throws {
        try await addCredential()
        try await addKey(600)
        let old = try await addBucket()
        var row = old.row
        row.publicEndpoints[.cdn] = Self.cdn(600)
        try setMaker()
        for change in try changesOfOthers() {
            await #expect(throws: Self.missingForCDN) {
                try await changes.update(row, over: old, showing: ShownSecrets(), by: change)
            }
        }
        _ = try await changes.update(row, over: old, showing: ShownSecrets(), by: change())
    }

    @Test func `what could not work is refused before anything is asked`() async throws {
        var bucket = try Fixture.bucket()
        bucket.maxTTL = 0
        await #expect(throws: GatewayError.self) {
            try await changes.create(bucket, showing: ShownSecrets(secretAccessKey: Self.secret), by: change())
        }
        #expect(credentials.reads == 0 && buckets.count == 0)
    }
}

/// The buckets for which each credential signs; none until a test sets them. Tests ask only for credentials that exist.
private final class CredentialUses: CredentialDependency {
    private let known = Mutex<(endpoint: String?, soleMaker: CredentialUse.Maker?)>((nil, nil))

    func set(_ endpoint: String? = nil, soleMaker: CredentialUse.Maker? = nil) {
        known.withLock { $0 = (endpoint, soleMaker) }
    }

    func use(of credential: UUID, at endpoint: String) async throws(GatewayError) -> CredentialUse {
        known.withLock { CredentialUse(signsForEndpoint: $0.endpoint == endpoint, soleMaker: $0.soleMaker) }
    }

    func dependents(of credential: UUID) async throws(GatewayError) -> CredentialDependents {
        CredentialDependents(buckets: [], alive: .init(count: 0, until: nil), aliveOfPreviousKey: nil)
    }
}
