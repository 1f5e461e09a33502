import Foundation
import GatewayCore
import HTTPTypes
import Synchronization
import Testing

@Suite("POST /admin/v1/buckets/{bucket}:validate")
struct BucketValidationTests {
    private static let path = "/admin/v1/buckets/photos:validate"

    private func gateway(_ validator: StubValidator = StubValidator()) async throws -> TestGateway {
        let gateway = TestGateway(validator: validator)
        try await gateway.makeBucket()
        return gateway
    }

    @Test("tells what was found, as the contract says, and leaves an audit row that names the probe")
    func found() async throws {
        let gateway = try await gateway(StubValidator(failure: .refused(status: 403, code: "AccessDenied")))
        for _ in 0..<2 {
            let answer = await gateway.send(.post, Self.path, token: "admin-token")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json["valid"] as? Bool == false && answer.json["probeLeft"] as? Bool == true)
            let step = (answer.json["steps"] as? [[String: Any]])?.first
            #expect(step?["code"] as? String == "AccessDenied" && step?["reason"] as? String == "refused")
            let act = gateway.audit.acts.withLock { $0.last }
            #expect(act?.operation == .validate && act?.identifier == "photos")
            #expect(act?.details["probeKey"] == answer.string("probeKey"))
        }
        let keys = gateway.audit.acts.withLock { $0.compactMap { $0.details["probeKey"] } }
        #expect(Set(keys).count == 2 && keys.allSatisfy { $0.hasPrefix(".sluice-probe/") && $0.utf8.count == 46 })
    }

    @Test("is for admins, of buckets that exist")
    func refusals() async throws {
        let gateway = try await gateway()
        for (token, path, status) in [
            ("user-token", Self.path, 403), ("auditor-token", Self.path, 403),
            ("admin-token", "/admin/v1/buckets/other:validate", 404),
            ("admin-token", "/admin/v1/buckets/x:validate", 404),
            ("admin-token", Self.path + "?endpoint=x", 400),
        ] {
            let answer = await gateway.send(.post, path, token: token)
            #expect(answer.status == status, "\(path): \(answer.text)")
        }
        #expect(gateway.audit.acts.withLock { $0.isEmpty })
    }

    @Test("does nothing at the store that is not on record")
    func recordBeforeAct() async throws {
        let gateway = try await gateway()
        gateway.audit.failure.withLock { $0 = .unavailable(retryAfter: 1) }
        #expect(await gateway.send(.post, Self.path, token: "admin-token").status == 503)
    }
}
