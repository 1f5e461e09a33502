import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// The ledger as admins read it.
@Suite struct IssuanceListTests {
    @Test(.database(.migrated)) func listsNewestFirstInPagesAndOnlyWhatIsAliveWhereAsked() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let position = try await connection.position()
        let start = Date().timeIntervalSince1970
        var ids: [UUID] = []
        for number in 0..<5 {
            let id = UUID.version7(
                at: Date(timeIntervalSince1970: start + Double(number)), randomBytes: [UInt8](repeating: 1, count: 10))
            let proposal = try IssuanceProposal.sample(at: position, lifetime: number == 3 ? -10 : 900).with(id: id)
            ids.append(proposal.id)
            #expect(try await connection.record([proposal]) == [.recorded(remaining: [])])
        }
        let session = IssuanceProposal(
            id: .version7(at: Date(timeIntervalSince1970: start + 9), randomBytes: [UInt8](repeating: 1, count: 10)),
            position: position, scopes: [.principal(.anyone)], principal: try Principal("user:alice"),
            matchedPrincipal: .anyone, grantID: UUID(), credentialID: UUID(), delivery: .sts,
            actions: [.putObject, .getObject], bucket: try BucketName("demo"), prefix: ExactText(""),
            expiresAt: Date(timeIntervalSince1970: start.rounded() + 3600), requestID: "request-9", charges: [])
        #expect(try await connection.record([session]) == [.recorded(remaining: [])])

        let reader = try LedgerWorld().reader
        let first = try await reader.issuances(IssuanceQuery(pageSize: 2))
        #expect(first.items.map(\.id) == [session.id, ids[4]])
        let row = try #require(first.items.first)
        #expect(row.actions == ["PutObject", "GetObject"] && row.method == "*" && row.key.isEmpty)
        #expect(row.delivery == "sts" && row.expiresAt == session.expiresAt && row.requestID == "request-9")
        let next = try await reader.issuances(IssuanceQuery(pageSize: 3, pageToken: first.nextPageToken))
        #expect(next.items.map(\.id) == [ids[3], ids[2], ids[1]])
        let alive = try await reader.issuances(IssuanceQuery(.alive))
        #expect(alive.items.map(\.id) == [session.id, ids[4], ids[2], ids[1], ids[0]] && alive.nextPageToken == nil)
        await #expect(throws: GatewayError.self) { try await reader.issuances(IssuanceQuery(pageToken: "x")) }
    }

    @Test(.database(.migrated)) func aRoleComesBackAsItWasGiven() async throws {
        let world = try AdminWorld()
        for role in [
            SessionRole(
                roleARN: "acs:ram::1234567890123456:role/uploader", service: .alibabaRPC,
                endpoint: "https://sts.aliyuncs.com", region: "cn-hangzhou", maxDuration: 7200, externalID: "x1"),
            SessionRole(
                roleARN: "arn:aws:iam::123456789012:role/uploader", service: .aws,
                endpoint: "https://sts.eu-west-1.amazonaws.com", region: "eu-west-1",
                kmsKeyARN: "arn:aws:kms:eu-west-1:123456789012:key/mrk-1234"),
        ] {
            var credential = StorageCredential.sample(name: role.service.rawValue)
            credential.sessionRole = role
            let made = try await world.stores.credentials.create(credential, by: AdminWorld.change)
            #expect(made.sessionRole == role)
            let load = try await world.source.load([.credential(made.id)], literalGrantLimit: 1)
            guard case .credential(let row)? = load.rows.first else {
                Issue.record("There is no row.")
                return
            }
            #expect(row?.sessionRole == role)
            #expect(try await world.audit().last?.contains(role.roleARN) == true)
        }
    }
}
