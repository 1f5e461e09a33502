import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres
import LibCrypto

/// Keys that replace others, what depends on the former keys, and the audit of the change.
@Suite struct RotationTests {
    private func loaded(_ prefix: String, in world: AdminWorld) async throws -> APIKey? {
        let load = try await world.source.load([.apiKey(prefix: prefix)], literalGrantLimit: 1)
        guard case .apiKey(let key) = load.rows.first else { return nil }
        return key
    }

    @Test(.database(.migrated)) func bothSecretsOfAKeyAreKnownUntilTheRowIsGone() async throws {
        let world = try AdminWorld()
        let keys = world.stores.apiKeys
        let stored = try await keys.create(.sample(prefix: "abcdefghij01"), by: AdminWorld.change)
        let end = Date(timeIntervalSince1970: 1_950_000_000)
        var row = stored.row
        row.previousKey = .init(prefix: row.prefix, hash: row.hash, expiresAt: end)
        row.prefix = "abcdefghij02"
        row.hash = DigestAlgorithm.sha256.digest(of: "0xcd")
        let rotated = try await keys.update(row, from: stored.revision, by: AdminWorld.change)
        #expect(rotated.row.previousKey == row.previousKey && rotated.row.hash == row.hash)
        #expect(Set(try await world.lastScopes()) == ["apikey:abcdefghij01", "apikey:abcdefghij02"])
        let new = try #require(await loaded("abcdefghij02", in: world))
        #expect(new.hash == row.hash && new.expiresAt == stored.row.expiresAt)
        let old = try #require(await loaded("abcdefghij01", in: world))
        #expect(old.hash == stored.row.hash && old.expiresAt == end && old.prefix == "abcdefghij01")
        #expect(old.id == new.id && old.principal == new.principal && old.roles == new.roles)
        // The row's own end takes precedence if it is earlier.
        row.expiresAt = Date(timeIntervalSince1970: 1_940_000_000)
        let earlier = try await keys.update(row, from: rotated.revision, by: AdminWorld.change)
        #expect(try await loaded("abcdefghij01", in: world)?.expiresAt == row.expiresAt)
        row.prefix = "abcdefghij03"
        row.previousKey = nil
        let again = try await keys.update(row, from: earlier.revision, by: AdminWorld.change)
        #expect(
            Set(try await world.lastScopes()) == ["apikey:abcdefghij01", "apikey:abcdefghij02", "apikey:abcdefghij03"])
        #expect(try await loaded("abcdefghij01", in: world) == nil)
        #expect(try await loaded("abcdefghij02", in: world) == nil)
        try await keys.delete(again.row.id.lowercaseText, by: AdminWorld.change)
        #expect(try await loaded("abcdefghij03", in: world) == nil)
        #expect(try await world.audit().allSatisfy { !$0.contains("hash") && !$0.contains("cdcd") })
    }

    @Test(.database(.migrated)) func aCredentialTellsWhatItsFormerKeySigned() async throws {
        let world = try AdminWorld()
        let bucket = try await world.makeBucket()
        let id = bucket.credentialID
        func issue(_ count: Int, lifetime: TimeInterval) async throws {
            let position = try await world.connection.position()
            let proposals = try (0..<count).map { _ in
                try IssuanceProposal.sample(at: position, scopes: ["nothing"], lifetime: lifetime).with(
                    credentialID: id)
            }
            _ = try await world.connection.record(proposals)
        }
        try await issue(2, lifetime: 900)
        try await issue(1, lifetime: -1)
        var found = try await world.stores.dependency.dependents(of: id)
        #expect(found.buckets == [bucket.name] && found.alive.count == 2 && found.aliveOfPreviousKey == nil)
        var stored = try await world.stores.credentials.get(id.lowercaseText)
        stored.row.accessKeyID = "SECOND"
        stored.row.secretAccessKey = Secret("TopSecretKeyTheSecond")
        stored = try await world.stores.credentials.update(stored.row, from: stored.revision, by: AdminWorld.change)
        try await issue(3, lifetime: 1800)
        found = try await world.stores.dependency.dependents(of: id)
        #expect(found.alive.count == 5 && found.aliveOfPreviousKey?.count == 2)
        let until = try #require(found.aliveOfPreviousKey?.until)
        #expect(until < Date().addingTimeInterval(901) && until > Date().addingTimeInterval(800))
        // Any other change leaves both keys as they are.
        stored.row.name = "renamed"
        _ = try await world.stores.credentials.update(stored.row, from: stored.revision, by: AdminWorld.change)
        #expect(try await world.stores.dependency.dependents(of: id).aliveOfPreviousKey?.count == 2)
        try await world.connection.runScript(
            "UPDATE issuances SET expires_at = now() WHERE policy_seq < (SELECT max(policy_seq) FROM issuances)")
        found = try await world.stores.dependency.dependents(of: id)
        #expect(found.alive.count == 3 && found.aliveOfPreviousKey == .init(count: 0, until: nil))
        await #expect(throws: GatewayError.notFound(.storageCredential)) {
            try await world.stores.dependency.dependents(of: UUID())
        }
    }

    /// The address of a service account says nothing of its key. Under any other name, another secret is a correction.
    @Test(.database(.migrated), arguments: StorageCredential.Kind.allCases)
    func `another private key of a service account is another key`(kind: StorageCredential.Kind) async throws {
        let world = try AdminWorld()
        var row = StorageCredential.sample()
        row.kind = kind
        var stored = try await world.stores.credentials.create(row, by: AdminWorld.change)
        let id = stored.id
        let proposal = try IssuanceProposal.sample(at: await world.connection.position(), scopes: ["nothing"])
        _ = try await world.connection.record([proposal.with(credentialID: id)])
        stored.row.secretAccessKey = Secret("TopSecretKeyTheSecond")
        stored = try await world.stores.credentials.update(stored.row, from: stored.revision, by: AdminWorld.change)
        let isNewKey = kind == .serviceAccount
        // Any other change leaves both keys as they are.
        for name in ["renamed", "renamed again"] {
            #expect(stored.row.previousKey?.accessKeyID == (isNewKey ? row.accessKeyID : nil))
            let found = try await world.stores.dependency.dependents(of: id)
            #expect(found.alive.count == 1 && found.aliveOfPreviousKey?.count == (isNewKey ? 1 : nil))
            stored.row.name = name
            stored = try await world.stores.credentials.update(stored.row, from: stored.revision, by: AdminWorld.change)
        }
    }

    @Test(.database(.migrated)) func theCredentialOfACDNIsKeptWhileABucketNamesIt() async throws {
        let world = try AdminWorld()
        let stores = world.stores
        let root = CredentialUse.Maker(actor: try Principal("user:root"), credential: nil)
        let store = try await stores.credentials.create(.sample(name: "store"), by: AdminWorld.change)
        var pair = StorageCredential.sample(name: "cdn")
        pair.kind = .keyPair
        let key = try await stores.credentials.create(pair, by: AdminWorld.change)
        func use(_ id: UUID, at url: String = "https://cdn.example") async throws -> CredentialUse {
            try await stores.dependency.use(of: id, at: url)
        }
        #expect(try await use(key.id) == CredentialUse(signsForEndpoint: false, soleMaker: root))
        var row = try Bucket.sample("demo", credential: store.id)
        row.publicEndpoints = [
            .internal: PublicEndpoint(url: "https://s3.example.internal"),
            .cdn: PublicEndpoint(
                url: "https://cdn.example",
                signing: CDNSigning(
                    scheme: .cloudFront, credentialID: key.id, hash: .sha256, bindsSourceAddress: true,
                    dropsParameters: true)),
        ]
        let bucket = try await stores.buckets.create(row, by: AdminWorld.change)
        #expect(bucket.row.publicEndpoints == row.publicEndpoints)
        #expect(try await stores.buckets.get("demo").row.publicEndpoints == row.publicEndpoints)
        #expect(try await stores.dependency.dependents(of: key.id).buckets == [row.name])
        #expect(try await stores.dependency.dependents(of: store.id).buckets == [row.name])
        #expect(try await use(key.id) == CredentialUse(signsForEndpoint: false, soleMaker: nil))
        #expect(try await use(store.id) == CredentialUse(signsForEndpoint: false, soleMaker: nil))
        #expect(try await use(store.id, at: "https://s3.example.internal").signsForEndpoint)
        await #expect(throws: GatewayError.conflict(reason: "A bucket uses the credential.")) {
            try await stores.credentials.delete(key.id.lowercaseText, by: AdminWorld.change)
        }

        // A new key waits for the links of the former one.
        var next = try await stores.credentials.get(key.id.lowercaseText)
        next.row.accessKeyID = "NEXT"
        let turned = try await stores.credentials.update(next.row, from: next.revision, by: AdminWorld.change)
        let needed = try #require(turned.row.previousKey?.neededUntil)
        #expect(needed > Date().addingTimeInterval(3500))

        // What signed for a CDN once is no longer its maker's, even after the bucket is gone.
        var plain = bucket
        plain.row.publicEndpoints = [:]
        plain = try await stores.buckets.update(plain.row, from: bucket.revision, by: AdminWorld.change)
        #expect(try await use(key.id).soleMaker == nil)
        try await stores.credentials.delete(key.id.lowercaseText, by: AdminWorld.change)
        row.publicEndpoints = [
            .cdn: PublicEndpoint(
                url: "https://cdn.example", signing: CDNSigning(scheme: .alibabaB, credentialID: key.id, validity: 60))
        ]
        await #expect(throws: GatewayError.self) {
            try await stores.buckets.update(row, from: plain.revision, by: AdminWorld.change)
        }
        // A validity, and the credential that signs at the store too.
        row.publicEndpoints[.cdn]?.signing?.credentialID = store.id
        let both = try await stores.buckets.update(row, from: plain.revision, by: AdminWorld.change)
        #expect(both.row.publicEndpoints == row.publicEndpoints)
    }

    @Test(.database(.migrated)) func aCredentialIsItsMakersUntilABucketWasSignedForWithIt() async throws {
        let world = try AdminWorld()
        let stores = world.stores
        let other = ChangeContext(actor: try .user("other"), requestID: "request-8")
        func use(_ id: UUID, _ endpoint: String = "https://s3.example") async throws -> CredentialUse {
            try await stores.dependency.use(of: id, at: endpoint)
        }
        let root = CredentialUse.Maker(actor: try Principal("user:root"), credential: nil)
        let credential = try await stores.credentials.create(.sample(name: "a"), by: AdminWorld.change)
        let id = credential.id
        #expect(try await use(id) == CredentialUse(signsForEndpoint: false, soleMaker: root))
        let bucket = try await stores.buckets.create(.sample("demo", credential: id), by: other)
        #expect(try await use(id) == CredentialUse(signsForEndpoint: true, soleMaker: nil))
        #expect(try await use(id, "https://s3.example.mine") == CredentialUse(signsForEndpoint: false, soleMaker: nil))
        var named = bucket.row
        named.publicEndpoints[.internal] = PublicEndpoint(url: "https://s3.example.mine", addressing: .cname)
        named.stableLinkWindow = 3600
        named.encryption = ServerSideEncryption(algorithm: .awsKMS, keyID: "alias/photos")
        let kept = try await stores.buckets.update(named, from: bucket.revision, by: other)
        #expect(kept.row == named)
        #expect(try await stores.buckets.get(named.name.rawValue).row == named)
        let load = try await world.source.load([.bucket(named.name)], literalGrantLimit: 1)
        guard case .bucket(let read)? = load.rows.first else {
            Issue.record("There is no row.")
            return
        }
        #expect(read == named)
        #expect(try await use(id, "https://s3.example.mine") == CredentialUse(signsForEndpoint: true, soleMaker: nil))
        try await stores.buckets.delete(bucket.row.name.rawValue, by: AdminWorld.change)
        #expect(try await use(id) == CredentialUse(signsForEndpoint: false, soleMaker: nil))

        // A bucket that was moved to the credential counts as well, even after it has gone back.
        let second = try await stores.credentials.create(.sample(name: "b"), by: AdminWorld.change)
        var moved = try await stores.buckets.create(.sample("moved", credential: id), by: other)
        for target in [second.id, id] {
            moved.row.credentialID = target
            moved = try await stores.buckets.update(moved.row, from: moved.revision, by: other)
        }
        #expect(try await use(second.id) == CredentialUse(signsForEndpoint: false, soleMaker: nil))

        // After another admin has changed the row, the admin who first entered the secret may not know it.
        var third = try await stores.credentials.create(.sample(name: "c"), by: AdminWorld.change)
        third.row.name = "d"
        _ = try await stores.credentials.update(third.row, from: third.revision, by: other)
        #expect(try await use(third.id).soleMaker == nil)

        // Another credential with the same name may be another admin's.
        let byIssuer = ChangeContext(
            actor: root.actor, requestID: "request-9", credential: .issuer("https://id.example"))
        let byKey = ChangeContext(
            actor: root.actor, requestID: "request-9", credential: .apiKey(prefix: "abcdefghij01"))
        var fourth = try await stores.credentials.create(.sample(name: "e"), by: byIssuer)
        let maker = CredentialUse.Maker(actor: root.actor, credential: byIssuer.credential)
        #expect(try await use(fourth.id).soleMaker == maker)
        fourth.row.name = "f"
        fourth = try await stores.credentials.update(fourth.row, from: fourth.revision, by: byIssuer)
        #expect(try await use(fourth.id).soleMaker == maker)
        fourth.row.name = "g"
        _ = try await stores.credentials.update(fourth.row, from: fourth.revision, by: byKey)
        #expect(try await use(fourth.id).soleMaker == nil)

        // Whoever has changed the issuer may have given it keys that sign tokens of any admin.
        var issuer = try await stores.issuers.create(.sample("https://id.example"), by: other)
        let fifth = try await stores.credentials.create(.sample(name: "h"), by: byIssuer)
        let sixth = try await stores.credentials.create(.sample(name: "i"), by: byKey)
        _ = try await stores.issuers.create(.sample("https://id.example.other", prefix: "b|"), by: other)
        #expect(try await use(fifth.id).soleMaker == maker)
        issuer.row.keys = .secret(Secret("another shared secret of 32 bytes"))
        issuer = try await stores.issuers.update(issuer.row, from: issuer.revision, by: other)
        #expect(try await use(fifth.id).soleMaker == nil)
        #expect(try await use(sixth.id).soleMaker != nil)
        let seventh = try await stores.credentials.create(.sample(name: "j"), by: byIssuer)
        #expect(try await use(seventh.id).soleMaker == maker)
        try await stores.issuers.delete(issuer.id.lowercaseText, by: other)
        #expect(try await use(seventh.id).soleMaker == nil)
        await #expect(throws: GatewayError.notFound(.storageCredential)) { try await use(UUID()) }
    }

    @Test(.database(.migrated)) func theAuditIsSearchedAndRead() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let other = ChangeContext(actor: try Principal("user:eve"), requestID: "request-8")
        let grant = try await world.stores.grants.create(.sample(), by: other)
        var row = grant.row
        row.note = "changed"
        let changed = try await world.stores.grants.update(row, from: grant.revision, by: AdminWorld.change)
        try await world.stores.grants.delete(changed.row.id.lowercaseText, by: other)
        let audit = world.stores.audit
        func found(_ filters: [String: String]) async throws -> [String] {
            try await audit.changes(ListQuery(filters: filters)).items.map { "\($0.operation) \($0.kind)" }
        }
        let all = ["delete Grant", "update Grant", "create Grant", "create Bucket", "create StorageCredential"]
        #expect(try await found([:]) == all)
        #expect(try await found(["actor": "user:eve"]) == [all[0], all[2]])
        #expect(try await found(["requestID": "request-7", "kind": "Grant"]) == [all[1]])
        #expect(try await found(["resourceID": grant.row.id.lowercaseText]) == Array(all[...2]))
        #expect(try await found(["operation": "create", "kind": "Bucket"]) == [all[3]])
        #expect(try await found(["from": "2100-01-01T00:00:00Z"]).isEmpty)
        #expect(try await found(["to": "2100-01-01T00:00:00.5Z", "from": "2000-01-01T00:00:00Z"]) == all)
        let update = try #require(await audit.changes(ListQuery(filters: ["operation": "update"])).items.first)
        #expect(update.before?.contains(#""note": "é \"note\"""#) == true)
        #expect(update.after?.contains(#""note": "changed""#) == true)
        #expect(update.actor == "user:root" && abs(update.at.timeIntervalSinceNow) < 60)
        var seen: [UUID] = []
        var token: String?
        repeat {
            let page = try await audit.changes(ListQuery(pageSize: 2, pageToken: token))
            seen += page.items.map(\.id)
            token = page.nextPageToken
        } while token != nil && seen.count < 10
        #expect(seen.count == 5 && Set(seen).count == 5)
        let first = try #require(await audit.changes(ListQuery(pageSize: 1)).nextPageToken)
        for query in [
            ListQuery(filters: ["who": "a"]), ListQuery(filters: ["from": "now"]), ListQuery(pageToken: "x"),
            ListQuery(filters: ["kind": "Grant"], pageToken: first), ListQuery(filters: ["actor": "a\0b"]),
        ] {
            await #expect(throws: GatewayError.self) { try await audit.changes(query) }
        }
    }
}
