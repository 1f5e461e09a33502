import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Synchronization
import Testing

/// Callbacks without a secret, signed with a key in place of Alibaba OSS's. The `openssl` command makes the signatures.
@Suite("Callbacks that OSS signed")
struct OSSCallbackTests {
    private static let keyURL = "https://gosspublic.alicdn.com/callback_pub_key_v1.pem"
    private static let key = """
        -----BEGIN PUBLIC KEY-----
        MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBANdklk67HQ+cJ80dLU6wh/5QeWBK8LiA
        hcNgmDifz5cTUPpYnevLN0raTuX02uVy8Z0h0F++q0p95FwRCMpuhTsCAwEAAQ==
        -----END PUBLIC KEY-----

        """
    /// One callback about an object in a bucket at OSS, and one about an object in a bucket elsewhere.
    private static let signed = (
        body: "bucket=oss-photos&object=users%2Falice%2Fcat.png&size=10&etag=%22tag%22&reqId=5C06A3B67B8B5A3DA422299D",
        signature: "SqGAjrdHhbUjl4MxpWKtiGcBAMGlj2jWtm1KGwoOaxmn6MesUYOIQjABovZ78xDHVP8E19JO6EJIfdZV9NpTaQ=="
    )
    private static let elsewhere = (
        body: "bucket=photos&object=a.png&size=3",
        signature: "0TJWnps4+MVYh18hzc4NCz0LFxcghfpf3vDQtQAel4eYL/7wUOu4uR0093CxgFxz+7qzqmKKYIcovjVyZBg92Q=="
    )

    private func gateway(_ object: StoredObject? = StubObjects.fitting { $0.size = 12 }) -> TestGateway {
        let gateway = TestGateway()
        gateway.callbackKeys.documents.withLock { $0[Self.keyURL] = Array(Self.key.utf8) }
        gateway.objects.answer.withLock { $0 = .success(object) }
        return gateway
    }

    private func send(
        _ gateway: TestGateway, _ call: (body: String, signature: String) = Self.signed,
        key: String = "http://gosspublic.alicdn.com/callback_pub_key_v1.pem", path: String = "/v1/events/oss"
    ) async -> TestAnswer {
        var headers: HeaderFields = [.authorization: call.signature, .contentType: "application/x-www-form-urlencoded"]
        if let name = HTTPField.Name("x-oss-pub-key-url") { headers[name] = Data(key.utf8).base64EncodedString() }
        return await gateway.send(.post, path, headers: headers, json: call.body)
    }

    @Test("are noted as the gateway finds the object, once, and answered without a word of that")
    func noted() async {
        let gateway = gateway()
        for _ in 0..<2 {
            let answer = await send(gateway)
            #expect(
                answer.status == 200 && answer.number("noted") == 0 && answer.number("ignored") == 0, "\(answer.text)")
        }
        let made = gateway.events.objects.withLock { $0 }
        #expect(made.map(\.key.rawValue) == ["users/alice/cat.png"])
        // The size is the store's, not the callback's.
        #expect(made.first?.size == 12 && made.first?.callbackID?.hasPrefix("found:") == true)
        #expect(gateway.callbackKeys.asked.withLock { $0 } == [Self.keyURL], "by https, and once")
        #expect(gateway.objects.asked.withLock { $0 } == ["oss-photos/users/alice/cat.png"])
    }

    @Test("are worth nothing where nothing lies there, or the bucket is not one of ours at OSS; nobody learns that")
    func hints() async {
        let empty = gateway(nil)
        let usual = await send(gateway()).text
        #expect(await send(empty).text == usual)
        #expect(empty.events.objects.withLock { $0.isEmpty })
        let foreign = gateway()
        #expect(await send(foreign, Self.elsewhere).text == usual)
        #expect(foreign.events.objects.withLock { $0.isEmpty } && foreign.objects.asked.withLock { $0.isEmpty })
    }

    @Test("may be replayed without end: that asks no store, and takes nothing from other callbacks")
    func replayed() async {
        let gateway = gateway()
        for _ in 0..<80 {
            for call in [Self.signed, Self.elsewhere] { #expect(await send(gateway, call).status == 200) }
        }
        #expect(gateway.objects.asked.withLock(\.count) == 1)
        #expect(gateway.events.objects.withLock(\.count) == 1)
    }

    @Test("with addresses of keys that nobody has keep out no key that is held")
    func unknownKeys() async {
        let gateway = gateway()
        #expect(await send(gateway).status == 200)
        for number in 0..<40 {
            #expect(await send(gateway, key: "https://gosspublic.alicdn.com/\(number)").status == 503)
        }
        #expect(gateway.callbackKeys.asked.withLock(\.count) == 8)
        #expect(await send(gateway).status == 200)
    }

    @Test("name their key in one way, and a key that has signed nothing takes no place")
    func otherNames() async {
        let gateway = gateway()
        #expect(await send(gateway).status == 200)
        for name in [
            "callback_pub_key_v1.pem?n=1", "callback_pub_key_v1.pem#1", "/callback_pub_key_v1.pem",
            "./callback_pub_key_v1.pem", "a/../callback_pub_key_v1.pem", "%63allback_pub_key_v1.pem",
        ] {
            #expect(await send(gateway, key: "https://gosspublic.alicdn.com/" + name).status == 401, "\(name)")
        }
        #expect(gateway.callbackKeys.asked.withLock { $0 } == [Self.keyURL])
        for number in 0..<8 {
            let address = "https://gosspublic.alicdn.com/\(number).pem"
            gateway.callbackKeys.documents.withLock { $0[address] = Array(Self.key.utf8) }
            let forged = (body: Self.signed.body, signature: Self.elsewhere.signature)
            // Some find the allowance used up.
            #expect([401, 503].contains(await send(gateway, forged, key: address).status))
        }
        #expect(gateway.callbackKeys.asked.withLock(\.count) > 4)
        #expect(await send(gateway).status == 200)
        #expect(gateway.callbackKeys.asked.withLock { $0.filter { $0 == Self.keyURL }.count } == 1)
    }

    @Test("are refused where the signature is of another body, path or key")
    func forged() async {
        let gateway = gateway()
        let other = (body: Self.signed.body.replacing("cat", with: "dog"), signature: Self.signed.signature)
        #expect(await send(gateway, other).status == 401)
        #expect(await send(gateway, (Self.signed.body, Self.elsewhere.signature)).status == 401)
        #expect(await send(gateway, (Self.signed.body, "")).status == 401)
        for url in [
            "https://gosspublic.alicdn.com.evil.example/k.pem", "https://gosspublic.alicdn.com@evil.example/k.pem",
            "https://evil.example/gosspublic.alicdn.com/", "ftp://gosspublic.alicdn.com/k.pem",
            "https://gosspublic.alicdn.com:8443/k.pem", "https://gosspublic.alicdn.com", "",
        ] {
            #expect(await send(gateway, key: url).status == 401, "\(url)")
        }
        #expect(gateway.callbackKeys.asked.withLock { Set($0) } == [Self.keyURL])
        #expect(gateway.objects.asked.withLock { $0.isEmpty })
    }

    @Test("are to be sent again where the key cannot be reached, or is none; nobody learns that a store cannot be")
    func unreachable() async {
        let gateway = gateway()
        let usual = await send(gateway, Self.elsewhere).text
        gateway.objects.answer.withLock { $0 = .failure(.unavailable(retryAfter: 5)) }
        let answer = await send(gateway)
        #expect(answer.status == 200 && answer.text == usual)
        #expect(gateway.objects.asked.withLock(\.count) == 1 && gateway.events.objects.withLock { $0.isEmpty })
        #expect(await send(TestGateway()).status == 503)
        gateway.callbackKeys.documents.withLock { $0["https://gosspublic.alicdn.com/x"] = Array("no key".utf8) }
        #expect(await send(gateway, key: "https://gosspublic.alicdn.com/x").status == 503)
    }
}

@Suite("Repeated callbacks of OSS")
struct RepeatedCallbackTests {
    private func noted(_ gateway: TestGateway, _ body: String) async -> Int64? {
        let answer = await gateway.send(
            .post, "/v1/events/oss?secret=\(MemoryStoreEvents.secret)", headers: [.contentType: "text/plain"],
            json: body)
        return answer.number("noted").map { Int64($0) }
    }

    @Test("count once: by the request's identifier, or by all that they say")
    func repeated() async {
        let gateway = TestGateway()
        let plain = "bucket=photos&object=a&size=1&etag=E"
        #expect(await noted(gateway, plain) == 1)
        #expect(await noted(gateway, plain) == 0)
        #expect(await noted(gateway, plain + "&reqId=1") == 1)
        #expect(await noted(gateway, plain + "&reqId=1&x=retried") == 0)
        #expect(await noted(gateway, plain + "&reqId=2") == 1)
        #expect(await noted(gateway, #"{"bucket":"photos","object":"a","reqId":"2"}"#) == 0)
        let marks = gateway.events.objects.withLock { $0.map(\.callbackID) }
        #expect(marks.dropFirst() == ["request:1", "request:2"])
    }
}
