import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Master keys: how they are configured, what they protect, and how they change.
@Suite struct SealingTests {
    private static let key = Data(repeating: 7, count: 32).base64EncodedString()
    private static let other = Data(repeating: 8, count: 32).base64EncodedString()

    @Test func readsOneKeyOrSeveral() throws {
        #expect(try MasterKeyRing(parsing: Secret(Self.key + "\n")).currentID == "default")
        let ring = try MasterKeyRing(parsing: Secret("\nnew:\(Self.key)\r\n  old-1.x_y:\(Self.other) \n\n"))
        #expect(ring.currentID == "new")
        #expect("\(ring)" == "current: new, all: new, old-1.x_y")
        // HMAC-SHA256 of "sluice master key".
        #expect(ring.fingerprints == ["new:32c55a894f4da5b6", "old-1.x_y:d77f94a7528883e8"])
        #expect(ring.currentFingerprint == ring.fingerprints.first)
        let place = SealedPlace.issuer(UUID())
        let old = try MasterKeyRing(parsing: Secret("old-1.x_y:\(Self.other)"))
        #expect(try ring.open(old.seal([1, 2], in: place), in: place) == [1, 2])
        #expect(throws: MasterKeyError.unknownKey("new")) { try old.open(ring.seal([1], in: place), in: place) }
    }

    @Test(arguments: [
        ("", 1), ("\n \n", 1), ("short:AAAA", 1), ("a:\(key)\nb:\(key.dropLast())", 2), ("a:\(key)\n\na:\(other)", 3),
        (":\(key)", 1), ("a b:\(key)", 1), ("é:\(key)", 1), ("\(key):a", 1), ("\(key)\n\(other)", 1),
        ("a:\(key)\n\(other)", 2), ("a:\(key):b", 1), (String(repeating: "a", count: 65) + ":\(key)", 1),
    ])
    func namesTheLineThatIsWrongAndNothingOfIt(_ text: String, _ line: Int) throws {
        let error = try #require(throws: MasterKeyError.self) { try MasterKeyRing(parsing: Secret(text)) }
        guard case .malformed(line, _) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(!"\(error)".contains(Self.key.prefix(6)) && !"\(error)".contains(Self.other.prefix(6)))
    }

    @Test(.database(.migrated)) func secretsAreSealedAndOpenInTheirOwnRowOnly() async throws {
        let world = try AdminWorld()
        let first = try await world.stores.credentials.create(
            .sample(name: "first", token: "session-token"), by: AdminWorld.change
        ).row
        let second = try await world.stores.credentials.create(.sample(name: "second"), by: AdminWorld.change).row
        let issuer = try await world.stores.issuers.create(.sample(), by: AdminWorld.change)
        for table in ["storage_credentials", "issuers"] {
            let found = try await world.connection.number(
                """
                SELECT count(*) FROM \(table) t
                WHERE t::text ~ 'TopSecret|session-token|shared secret'
                    OR t::text ~ encode('TopSecret', 'hex') OR t::text ~ encode('session-token', 'hex')
                    OR t::text ~ encode('shared secret', 'hex')
                """)
            #expect(found == 0)
        }
        #expect(try await world.connection.number("SELECT count(*) FROM storage_credentials WHERE key_id = 'k1'") == 2)

        // An attacker who can write the table, but has no key, swaps the sealed bytes of two rows.
        try await world.connection.runScript(
            "UPDATE storage_credentials c SET sealed = o.sealed FROM storage_credentials o WHERE c.id <> o.id")
        let load = try await world.source.load(
            [.credential(first.id), .credential(second.id), .issuer(ExactText(issuer.issuer))], literalGrantLimit: 1)
        guard case .credential(nil) = load.rows[0], case .credential(nil) = load.rows[1],
            case .issuer(issuer) = load.rows[2]
        else {
            Issue.record("a secret opened in another row, or others suffered")
            return
        }
        await #expect(throws: GatewayError.unavailable(retryAfter: 1)) {
            try await world.stores.credentials.get(first.id.uuidString.lowercased())
        }
        // A row that cannot be opened can still be removed.
        try await world.stores.credentials.delete(first.id.uuidString.lowercased(), by: AdminWorld.change)
    }

    @Test(.database(.migrated)) func rotationSealsEverythingWithTheNewKey() async throws {
        let world = try AdminWorld(keys: .sample("old"))
        var credentials: [StorageCredential] = []
        for index in 0..<7 {
            credentials.append(
                try await world.stores.credentials.create(.sample(name: "c\(index)"), by: AdminWorld.change).row)
        }
        let issuer = try await world.stores.issuers.create(.sample(), by: AdminWorld.change).row
        let gateway = try PostgresConnection(
            testing: TestDatabase.current.connectionString, settings: [("role", "sluice_gateway")])
        let both = try MasterKeyRing.sample("new", "old")
        #expect(
            try await rotate(both, over: gateway)
                == .init(resealed: 8, unopened: []))
        let lines = try await world.audit().suffix(8)
        let rows = Set((credentials.map(\.id) + [issuer.id]).map { $0.uuidString.lowercased() })
        #expect(Set(lines.map { String($0.split(separator: " ")[2]) }) == rows)
        for line in lines {
            #expect(line.hasPrefix("update StorageCredential ") || line.hasPrefix("update Issuer "))
            let change = #"rotate-master-key run-1 before {"masterKeyID": "old"} after {"masterKeyID": "new"}"#
            #expect(line.hasSuffix(change))
        }
        #expect(try await rotate(both, over: gateway) == .init())
        let after = try AdminWorld(keys: .sample("new"))
        for credential in credentials {
            #expect(try await after.stores.credentials.get(credential.id.uuidString.lowercased()).row == credential)
        }
        #expect(try await after.stores.issuers.get(issuer.id.uuidString.lowercased()).row == issuer)

        // A missing key is named, and the row is left unchanged.
        let third = try MasterKeyRing.sample("third", "old")
        let outcome = try await rotate(third, over: gateway)
        #expect(outcome.resealed == 0 && outcome.unopened.count == 8)
        #expect(outcome.unopened.allSatisfy { $0.reason == .unknownKey("new") })
        #expect(outcome.unopened.last?.table == "issuers" && outcome.unopened.last?.id == issuer.id)
        #expect(try await after.stores.issuers.get(issuer.id.uuidString.lowercased()).row == issuer)

        // Another key of the same name must not pass for the one that sealed, nor seal beside it.
        _ = try await world.stores.credentials.create(.sample(name: "c7"), by: AdminWorld.change)
        let namesake = "new:" + Data(repeating: 0x5a, count: 32).base64EncodedString()
        let mistaken = try MasterKeyRing(parsing: Secret("\(namesake)\n\(MasterKeyRing.sampleLine("old"))"))
        await #expect(throws: MasterKeyError.doesNotOpen(keyID: "new")) {
            try await rotate(mistaken, over: gateway)
        }
        let unsealed = "SELECT count(*) FROM storage_credentials WHERE key_id = 'old'"
        #expect(try await world.connection.number(unsealed) == 1)
        #expect(try await rotate(both, over: gateway).resealed == 1)
    }

    /// Each gateway is live or not, and has the new key, the old one, both in either order or none of the two.
    @Test(.database(.migrated)) func rotationStopsWhileAGatewayDoesNotSealWithTheNewKey() async throws {
        let world = try AdminWorld(keys: .sample("old"))
        for index in 0..<4 {
            _ = try await world.stores.credentials.create(.sample(name: "c\(index)"), by: AdminWorld.change)
        }
        let gateway = try PostgresConnection(
            testing: TestDatabase.current.connectionString, settings: [("role", "sluice_gateway")])
        /// The fingerprint of a sample key; a text that names none as it is.
        func fingerprint(_ id: String) -> String { (try? MasterKeyRing.sample(id).currentFingerprint) ?? id }
        func announce(_ id: UUID, _ keys: [String], secondsAgo: Int) async throws {
            let names = keys.map { "\"\(fingerprint($0))\"" }.joined(separator: ",")
            try await world.connection.runScript(
                """
                SELECT note_gateway('\(id)', '1.0', now(), now(), NULL, NULL, '{\(names)}', 0, '');
                UPDATE gateways SET last_seen_at = now() - interval '\(secondsAgo) s' WHERE id = '\(id)'
                """)
        }
        let both = try MasterKeyRing.sample("new", "old")
        let rings = [
            ["old"], ["old", "new"], ["new", "old"], ["new"], ["other", "old"], ["NEW"], [], ["new "],
            ["third", "new"], ["new:0123456789abcdef", "old"],
            // The gateway is about to seal with another one.
            ["", "new", "old"],
        ]
        for keys in rings {
            for secondsAgo in [0, 25, 35] {
                let id = UUID()
                try await announce(id, keys, secondsAgo: secondsAgo)
                let lacks = secondsAgo < 30 && keys.first != "new"
                do {
                    let outcome = try await rotate(both, over: gateway)
                    #expect(!lacks, "\(keys) \(secondsAgo)")
                    #expect(outcome.unopened.isEmpty)
                } catch let refusal as MasterKeyRotation.Refusal {
                    #expect(lacks, "\(keys) \(secondsAgo)")
                    #expect(refusal.gateways.map(\.id) == [id])
                    #expect(refusal.gateways.map(\.keys) == [keys.map(fingerprint)])
                    #expect(refusal.key == both.currentFingerprint)
                    #expect(refusal.description.contains("\(id.uuidString.lowercased()), version 1.0, started "))
                    #expect(!refusal.description.contains("\n") && refusal.advice.contains("SLUICE_MASTER_KEY"))
                    let flaw = keys.contains("new") ? "seals with another one" : "does not have it"
                    #expect(refusal.description.contains(flaw))
                }
                try await world.connection.runScript("DELETE FROM gateways")
            }
        }
        // Nothing is sealed with the new key while one of several gateways lacks it.
        let third = try MasterKeyRing.sample("third", "new", "old")
        let (lacking, knowing) = (UUID(), UUID())
        try await announce(knowing, ["third", "new"], secondsAgo: 0)
        try await announce(lacking, ["new"], secondsAgo: 0)
        let refusal = await #expect(throws: MasterKeyRotation.Refusal.self) { try await rotate(third, over: gateway) }
        #expect(refusal?.gateways.map(\.id) == [lacking] && refusal?.resealed == 0)
        let sealed = "SELECT count(*) FROM storage_credentials WHERE key_id = 'third'"
        #expect(try await world.connection.number(sealed) == 0)
        try await world.connection.runScript("SELECT forget_gateway('\(lacking)')")
        #expect(try await rotate(third, over: gateway).resealed == 4)
    }

    private func rotate(
        _ keys: MasterKeyRing, over connection: PostgresConnection
    ) async throws -> MasterKeyRotation.Outcome {
        try await MasterKeyRotation(connection: connection, keys: keys, now: { Date() }, batch: 3)
            .run(requestID: "run-1")
    }

    @Test(.database(.migrated)) func keysThatAreNotThoseOfTheDatabaseAreNamed() async throws {
        let world = try AdminWorld(keys: .sample("old"))
        func outcome(_ keys: MasterKeyRing) async throws -> MasterKeyCheck.Outcome {
            let gateway = try PostgresConnection(
                testing: TestDatabase.current.connectionString, settings: [("role", "sluice_gateway")])
            return try await MasterKeyCheck(connection: gateway, keys: keys).run()
        }
        func flaws(_ keys: MasterKeyRing) async throws -> [MasterKeyError] { try await outcome(keys).flaws }
        #expect(try await flaws(.sample("new")) == [])
        for index in 0..<3 {
            _ = try await world.stores.credentials.create(.sample(name: "c\(index)"), by: AdminWorld.change)
        }
        let namesake = try MasterKeyRing(
            parsing: Secret("old:" + Data(repeating: 0x5a, count: 32).base64EncodedString()))
        #expect(try await flaws(.sample("new", "old")) == [])
        #expect(try await flaws(.sample("new")) == [.unknownKey("old")])
        #expect(try await outcome(namesake) == .init(flaws: [.doesNotOpen(keyID: "old")], partial: []))
        #expect(try await outcome(.sample("old")) == .init(flaws: [], partial: []))
        // One tampered row does not mean that the key is a different one, but it is told.
        try await world.connection.runScript("UPDATE storage_credentials SET sealed = '\\x00' WHERE name = 'c2'")
        #expect(try await outcome(.sample("old")) == .init(flaws: [], partial: ["old"]))
        // The secret of an issuer counts like that of a store; an issuer without a secret does not.
        let other = try AdminWorld(keys: .sample("elsewhere"))
        _ = try await other.stores.issuers.create(.sample(), by: AdminWorld.change)
        #expect(try await flaws(.sample("old")) == [.unknownKey("elsewhere")])
        try await world.connection.runScript(
            "UPDATE issuers SET keys_sealed = NULL, key_id = NULL, keys_inline = '{}', algorithms = '{ES256}'")
        #expect(try await flaws(.sample("old")) == [])
    }

    @Test func `keys are announced with those that are to take their place`() throws {
        let (ring, more) = (try MasterKeyRing.sample("old"), try MasterKeyRing.sample("old", "new"))
        let (turned, old) = (try MasterKeyRing.sample("new", "old"), ring.fingerprints)
        #expect(ring.announcement == old)
        ring.announce(more)
        #expect(ring.announcement == more.fingerprints && ring.fingerprints == old)
        ring.withdraw()
        #expect(ring.announcement == old)
        // Before and after, no rotation must take it for a gateway that seals with either.
        ring.announce(turned)
        #expect(ring.announcement == [""] + turned.fingerprints && ring.fingerprints == old)
        let namesake = try MasterKeyRing(
            parsing: Secret("old:" + Data(repeating: 0x5a, count: 32).base64EncodedString()))
        ring.announce(namesake)
        #expect(ring.announcement == [""] + namesake.fingerprints + old)
        let gateway = RunningGateway(
            id: UUID(), version: "1.0.0", clockDifference: 0, masterKeys: ring.announcement)
        for keys in [try MasterKeyRing.sample("old"), namesake] {
            #expect(keys.clashes(with: [gateway]) == [.differs(keyID: "old", gateways: [gateway.id])])
        }
        ring.replace(with: namesake)
        #expect(ring.announcement == namesake.fingerprints)
    }

    @Test func `keys that differ from those of running gateways under one identifier are named`() throws {
        func gateway(_ fingerprints: [String]) -> RunningGateway {
            RunningGateway(id: UUID(), version: "1.0.0", clockDifference: 0, masterKeys: fingerprints)
        }
        let ring = try MasterKeyRing.sample("new", "old")
        let namesake = try MasterKeyRing(
            parsing: Secret("old:" + Data(repeating: 0x5a, count: 32).base64EncodedString()))
        let strangers = [gateway(namesake.fingerprints), gateway(["new:0123456789abcdef"] + namesake.fingerprints)]
        // Other keys and another order are the business of rotations.
        let fine = try [
            gateway(ring.fingerprints), gateway(ring.fingerprints.reversed()), gateway([]), gateway(["old"]),
            gateway(MasterKeyRing.sample("older").fingerprints),
        ]
        #expect(ring.clashes(with: fine) == [])
        #expect(
            ring.clashes(with: fine + strangers) == [
                .differs(keyID: "new", gateways: [strangers[1].id]),
                .differs(keyID: "old", gateways: strangers.map(\.id)),
            ])
        #expect(namesake.clashes(with: strangers) == [])
    }
}
