import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import LibCrypto
import Synchronization
import Testing

/// A store without remote uploads.
struct NoRemoteUploads: RemoteUploadStore {
    func begin(_ upload: RemoteUpload, contentType: String) async throws(GatewayError) {}
    func contentTypes(ofUpload id: String, _ upload: RemoteUpload) async throws(GatewayError) -> [String]? { nil }
}

@Suite("Signatures for clients")
struct SignatureEndpointTests {
    private let text = "PUT\n\nimage/png\nSun, 17 Mar 2030 17:46:40 GMT\n/oss-photos/uploads/cat.png"

    private func body(_ content: String) throws -> String {
        String(decoding: try JSONSerialization.data(withJSONObject: ["content": content]), as: UTF8.self)
    }

    @Test("are answered as JSON, or bare and without a line break")
    func forms() async throws {
        let gateway = TestGateway()
        let answer = await gateway.send(.post, "/v1/signatures/oss", token: "user-token", json: try body(text))
        #expect(answer.status == 201, "\(answer.text)")
        let signature = HMACKey(Array(StubPolicy.secret.utf8), algorithm: .sha1)
            .authenticationCode(for: Array(text.utf8)).base64
        #expect(answer.string("authorization") == "OSS AKIDEXAMPLE:" + signature)
        #expect(answer.string("signature") == signature && answer.string("accessKeyID") == "AKIDEXAMPLE")
        #expect(answer.headers[.cacheControl] == "no-store")
        for accept in ["text/plain", "text/plain; charset=utf-8", "text/html, text/plain;q=0.5"] {
            let bare = await gateway.send(
                .post, "/v1/signatures/oss", token: "user-token", headers: [.accept: accept], json: try body(text))
            #expect(bare.text == "OSS AKIDEXAMPLE:" + signature)
            #expect(bare.headers[.contentType] == "text/plain; charset=utf-8")
        }
        #expect(!gateway.logLines.contains(signature) && !gateway.logLines.contains("cat.png"))
        let proposal = try #require(gateway.ledger.proposals.withLock { $0.first })
        #expect(proposal.delivery == .remoteSignature)
    }

    @Test("are refused as problems that do not repeat the string")
    func refusals() async throws {
        for (path, content, status) in [
            ("/v1/signatures/oss", text.replacing("uploads", with: "elsewhere"), 403),
            ("/v1/signatures/oss", text.replacing("/oss-photos", with: "/photos"), 422),
            ("/v1/signatures/aws-v2", text, 422), ("/v1/signatures/oss", text + "?acl", 400),
            ("/v1/signatures/oss", "secret-string", 400),
        ] {
            let answer = await TestGateway().send(.post, path, token: "user-token", json: try body(content))
            #expect(answer.status == status, "\(content): \(answer.text)")
            #expect(!answer.text.contains("cat.png") && !answer.text.contains("secret-string"))
        }
    }
}
