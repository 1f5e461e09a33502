import Foundation
import GatewayCloud
import GatewayCore
import HTTPTesting
import Logging
import Signing
import Testing

@Suite("Temporary credentials at the store", .withStores, .timeLimit(.minutes(2)))
struct SessionEndTests {
    /// Opens a session with the gateway's own code, shorter than its API offers.
    private func open(seconds: Int) async throws -> SessionCredential {
        let endpoint = try TestStore.radosgw("STS_ENDPOINT")
        let service = SecurityTokenService(
            client: OutboundClient(policy: try OutboundPolicy(origins: [endpoint])), logger: Logger(label: "test"),
            now: { Date() }, randomBytes: { count in (0..<count).map { _ in UInt8.random(in: 0...255) } },
            timeout: .seconds(20))
        let order = SessionOrder(
            credential: StorageCredential(
                id: UUID(), name: "ceph", accessKeyID: try TestStore.radosgw("ACCESS_KEY"),
                secretAccessKey: Secret(try TestStore.radosgw("SECRET_KEY")), createdAt: Date()),
            role: SessionRole(
                roleARN: try TestStore.radosgw("ROLE"), service: .aws, endpoint: endpoint,
                region: try TestStore.radosgw("REGION")),
            name: "alice",
            policy:
                #"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:PutObject","Resource":"*"}]}"#,
            duration: seconds, principal: try Principal("user:alice"))
        return try await service.open(order)
    }

    @Test("they upload until they end, and are refused from then on")
    func end() async throws {
        let lasting = try TestStore.withSession()
        let session = try await open(seconds: 8)
        let store = try TestStore.withSession(
            SigningCredential(
                accessKeyID: session.accessKeyID, secretAccessKey: session.secretAccessKey.reveal(),
                securityToken: session.sessionToken.reveal()))
        #expect(try await store.upload([1], to: store.freshKey()).status == 200)
        let bound = Date().addingTimeInterval(40)
        var key = store.freshKey()
        var answer = try await store.upload([1], to: key)
        while answer.status == 200, Date() < bound {
            try await Task.sleep(for: .milliseconds(100))
            key = store.freshKey()
            answer = try await store.upload([1], to: key)
        }
        #expect(answer.status == 403)
        #expect(Date() >= session.expiresAt)
        #expect(try await lasting.download(key).status == 404)
        #expect(try await lasting.upload([1], to: key).status == 200)
        #expect(try await store.upload([2], to: key).status == 403)
        #expect(try await lasting.download(key).body == [1])
    }
}
