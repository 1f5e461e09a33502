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

    private func change(by name: String = "admin") throws -> ChangeContext {
        ChangeContext(actor: try .user(name), requestID: "request-1")
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
        await #expect(throws: Self.missing) { try await changes.create(bucket, showing: nil, by: change()) }
        for text in ["", "not-a-secre", "not-a-secret ", "Not-a-secret"] {
            await #expect(throws: Self.wrong) {
                try await changes.create(bucket, showing: Secret(text), by: change())
            }
        }
        #expect(buckets.count == 0)
        let made = try await changes.create(bucket, showing: Self.secret, by: change())
        #expect(made.row == bucket && buckets.count == 1)
    }

    @Test func `nothing is shown for an endpoint that the credential signs for`() async throws {
        try await addCredential()
        use.set("https://s3.example.com")
        _ = try await changes.create(Fixture.bucket(), showing: nil, by: change())
        let elsewhere = try Fixture.bucket("other", endpoint: "https://mine.example")
        await #expect(throws: Self.missing) { try await changes.create(elsewhere, showing: nil, by: change()) }
    }

    @Test func `nothing is shown by the one who entered the secret of an unused credential`() async throws {
        try await addCredential()
        use.set(soleMaker: try .user("admin"))
        let bucket = try Fixture.bucket()
        await #expect(throws: Self.missing) { try await changes.create(bucket, showing: nil, by: change(by: "eve")) }
        _ = try await changes.create(bucket, showing: nil, by: change())
    }

    @Test func `a bucket moves only with the secret, and changes otherwise without`() async throws {
        try await addCredential()
        let old = try await addBucket()
        var row = old.row
        row.endpoint = "HTTPS://s3.example.com:443"
        row.maxTTL = 1000
        let same = try await changes.update(row, over: old, showing: nil, by: change())
        #expect(same.endpoint == "https://s3.example.com" && same.maxTTL == 1000)
        row.endpoint = "https://mine.example"
        await #expect(throws: Self.missing) { try await changes.update(row, over: same, showing: nil, by: change()) }
        let moved = try await changes.update(row, over: same, showing: Self.secret, by: change())
        #expect(moved.endpoint == "https://mine.example")
        await #expect(throws: GatewayError.preconditionFailed) {
            try await changes.update(row, over: old, showing: Self.secret, by: change())
        }
    }

    @Test func `a public endpoint is an endpoint like any other`() async throws {
        try await addCredential()
        let old = try await addBucket()
        var row = old.row
        row.publicEndpoints[.cdn] = PublicEndpoint(url: "https://Mine.example:443")
        await #expect(throws: Self.missing) { try await changes.update(row, over: old, showing: nil, by: change()) }
        await #expect(throws: Self.wrong) {
            try await changes.update(row, over: old, showing: Secret("another"), by: change())
        }
        let shown = try await changes.update(row, over: old, showing: Self.secret, by: change())
        #expect(shown.publicEndpoints == [.cdn: PublicEndpoint(url: "https://mine.example")])
        // What signs for an address may do so under another name, and for fewer addresses.
        row.publicEndpoints = [.default: PublicEndpoint(url: "https://mine.example", addressing: .cname)]
        let renamed = try await changes.update(row, over: shown, showing: nil, by: change())
        row.endpoint = "https://mine.example"
        row.publicEndpoints = [:]
        _ = try await changes.update(row, over: renamed, showing: nil, by: change())
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
        await #expect(throws: Self.missing) { try await changes.update(row, over: old, showing: nil, by: change()) }
        await #expect(throws: Self.wrong) {
            try await changes.update(row, over: old, showing: Self.secret, by: change())
        }
        _ = try await changes.update(row, over: old, showing: Secret("another-secret"), by: change())
        row.credentialID = Fixture.id(502)
        await #expect(throws: GatewayError.conflict(reason: "The credential does not exist.")) {
            try await changes.update(row, over: old, showing: Self.secret, by: change())
        }
    }

    @Test func `what could not work is refused before anything is asked`() async throws {
        var bucket = try Fixture.bucket()
        bucket.maxTTL = 0
        await #expect(throws: GatewayError.self) {
            try await changes.create(bucket, showing: Self.secret, by: change())
        }
        #expect(credentials.reads == 0 && buckets.count == 0)
    }
}

/// The buckets for which each credential signs; none until a test sets them. Tests ask only for credentials that exist.
private final class CredentialUses: CredentialDependency {
    private let known = Mutex<(endpoint: String?, soleMaker: Principal?)>((nil, nil))

    func set(_ endpoint: String? = nil, soleMaker: Principal? = nil) {
        known.withLock { $0 = (endpoint, soleMaker) }
    }

    func use(of credential: UUID, at endpoint: String) async throws(GatewayError) -> CredentialUse {
        known.withLock { CredentialUse(signsForEndpoint: $0.endpoint == endpoint, soleMaker: $0.soleMaker) }
    }

    func dependents(of credential: UUID) async throws(GatewayError) -> CredentialDependents {
        CredentialDependents(buckets: [], alive: .init(count: 0, until: nil), aliveOfPreviousKey: nil)
    }
}
