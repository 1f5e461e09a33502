import Foundation
import HTTPServing
import HTTPTypes
import Signing
import SigningTesting
import TestSupport
import Testing

/// Runs Alibaba's own SDK for Python on the gateway's answers. Our verifiers of both versions judge the result.
private struct OSS2 {
    /// The output of the SDK.
    struct Output: Decodable {
        struct Remote: Decodable {
            let stringToSign: String
            let headers: [String: String?]
        }

        let v1: String
        let v4: String
        let remote: Remote
    }

    private static let script = #"""
        import json, sys, time, datetime
        job = json.load(sys.stdin)
        now = job["now"]
        time.time = lambda: now
        import oss2

        class Frozen(datetime.datetime):
            @classmethod
            def utcnow(cls):
                return datetime.datetime.fromtimestamp(now, datetime.timezone.utc).replace(tzinfo=None)

        oss2.auth.datetime = Frozen
        c = job["credentials"]
        headers = {"Content-Type": "image/png", "x-oss-meta-owner": "alice"}

        def url(version, **region):
            auth = oss2.StsAuth(c["AccessKeyId"], c["AccessKeySecret"], c["SecurityToken"], version)
            bucket = oss2.Bucket(auth, job["endpoint"], job["bucket"], **region)
            return bucket.sign_url("PUT", job["key"], 600, headers=dict(headers), slash_safe=True)

        class Remote(oss2.Auth):
            """Asks somebody else for the signature, as the mobile SDKs' self-signed mode does."""
            def sign_with(self, key, signature):
                request = oss2.http.Request("PUT", "https://store.example/", headers={**headers, "date": job["date"]})
                text = self._ProviderAuth__get_string_to_sign(request, job["bucket"], key)
                return {"stringToSign": text, "headers": dict(request.headers)}

        remote = Remote("id", "none").sign_with(job["key"], None)
        print(json.dumps({"v1": url(oss2.AUTH_VERSION_1), "v4": url(oss2.AUTH_VERSION_4, region=job["region"]), "remote": remote}))
        """#

    /// Runs the SDK with the tests' clock.
    static func run(credentials: [String: Any], key: String) throws -> Output {
        let job: [String: Any] = [
            "now": 1_900_000_000, "date": "Sun, 17 Mar 2030 17:46:40 GMT", "credentials": credentials,
            "endpoint": "https://oss-cn-hangzhou.aliyuncs.com", "bucket": "oss-photos", "region": "cn-hangzhou",
            "key": key,
        ]
        let output = try Python.run(script, input: Array(JSONSerialization.data(withJSONObject: job)))
        return try JSONDecoder().decode(Output.self, from: Data(output.utf8))
    }
}

/// Runs Alibaba Cloud's credentials library for Python on an address that answers like the gateway.
private enum CredentialsLibrary {
    private static let script = #"""
        import http.server, json, sys, threading
        from alibabacloud_credentials.exceptions import CredentialException
        from alibabacloud_credentials.provider.uri import URLCredentialsProvider
        body = sys.stdin.buffer.read()

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_): pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        provider = URLCredentialsProvider(uri=f"http://127.0.0.1:{server.server_port}/distribute-token.json?ticket=t")
        try:
            c = provider.get_credentials()
            print(c.get_access_key_id(), c.get_access_key_secret(), c.get_security_token())
        except CredentialException:
            print("refused")
        """#

    static func read(_ body: String) throws -> String {
        try Python.run(script, input: Array(body.utf8))
    }
}

@Suite("An OSS SDK", .python(with: "oss2"))
struct MobileSDKTests {
    private static let key = "uploads/é a.png"

    private func now() throws -> SigningInstant {
        try #require(SigningInstant(epochSeconds: 1_900_000_000))
    }

    private func request(_ url: String) throws -> ReceivedRequest {
        let rest = url.dropFirst("https://".count)
        let slash = try #require(rest.firstIndex(of: "/"))
        return ReceivedRequest(
            method: "PUT", target: String(rest[slash...]),
            headers: [
                NamedValue("host", String(rest[..<slash])), NamedValue("content-type", "image/png"),
                NamedValue("x-oss-meta-owner", "alice"),
            ], hostBucket: "oss-photos")
    }

    @Test("signs with the vended token what both versions' verifiers accept")
    func vendedToken() async throws {
        let answer = await TestGateway().send(
            .get, "/v1/sts/oss?bucket=oss-photos&prefix=uploads/", token: "user-token")
        let output = try OSS2.run(credentials: answer.json, key: Self.key)
        let holder: @Sendable (String) -> SigningCredential? = { id in
            SigningCredential(accessKeyID: id, secretAccessKey: "session-secret", securityToken: "session-token/+=")
        }
        let v1 = OSSV1.Verifier(clockToleranceSeconds: 900, credential: holder)
        let path = Array("/oss-photos/\(Self.key)".utf8)
        #expect(try v1.verify(request(output.v1), bucket: "oss-photos", at: now()).path == path)
        let v4 = V4Verifier(
            scope: .oss(region: "cn-hangzhou"), clockToleranceSeconds: 900,
            credential: holder)
        let verified = try v4.verify(presigned: request(output.v4), at: now())
        #expect(String(decoding: verified.path, as: UTF8.self).hasSuffix(Self.key))
        let tampered = try request(output.v1.replacing("a.png", with: "b.png"))
        #expect(throws: VerificationError.self) { try v1.verify(tampered, bucket: "oss-photos", at: now()) }
        let other = try request(output.v4.replacing("a.png", with: "b.png"))
        #expect(throws: VerificationError.self) { try v4.verify(presigned: other, at: now()) }
    }

    @Test("is not alone: the credentials library takes what is given, and what is refused for a refusal")
    func credentialsLibrary() async throws {
        let path = "/v1/sts/oss?bucket=oss-photos&prefix="
        let given = await TestGateway().send(.get, path + "uploads/", token: "user-token")
        #expect(try CredentialsLibrary.read(given.text) == "STS.N1 session-secret session-token/+=")
        let refused = await TestGateway().send(.get, path + "other/", token: "user-token")
        #expect(refused.string("Code") == "AccessDenied")
        #expect(try CredentialsLibrary.read(refused.text) == "refused")
    }

    @Test("sends a signature of the gateway that the verifier accepts, split at its one colon")
    func remoteSignature() async throws {
        let credentials = ["AccessKeyId": "STS.N1", "AccessKeySecret": "s", "SecurityToken": "t"]
        let output = try OSS2.run(credentials: credentials, key: Self.key)
        let content = String(
            decoding: try JSONSerialization.data(withJSONObject: ["content": output.remote.stringToSign]),
            as: UTF8.self)
        let answer = await TestGateway().send(
            .post, "/v1/signatures/oss", token: "user-token", headers: [.accept: "text/plain"], json: content)
        #expect(answer.status == 201, "\(answer.text)")
        let parts = answer.text.split(separator: ":", omittingEmptySubsequences: false)
        #expect(parts.count == 2 && parts[0] == "OSS AKIDEXAMPLE" && parts[1].utf8.count == 28)
        var request = try request(output.v1)
        request.target = String(request.target.prefix { $0 != "?" })
        request.headers = output.remote.headers.compactMap { name, value in value.map { NamedValue(name, $0) } }
        request.headers += [
            NamedValue("host", "oss-photos.oss-cn-hangzhou.aliyuncs.com"), NamedValue("authorization", answer.text),
        ]
        let verifier = OSSV1.Verifier(clockToleranceSeconds: 900) { id in
            SigningCredential(accessKeyID: id, secretAccessKey: StubPolicy.secret)
        }
        let verified = try verifier.verify(request, bucket: "oss-photos", at: now())
        #expect(verified.accessKeyID == "AKIDEXAMPLE" && verified.path == Array("/oss-photos/\(Self.key)".utf8))
    }
}
