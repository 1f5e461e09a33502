import Foundation
import HTTPTesting
import LibCrypto
import Signing
import TestSupport
import Testing

@Suite("What we sign in version 2, a store accepts", .withStores)
struct Version2Tests {
    private static let body = Array("the bytes of an object".utf8)
    private static let headers = Array(binding(body).prefix(2))

    @Test("an upload and a download", arguments: StoreKind.allCases, ["object.bin", "a b+c=d&e/日本.png", "~!$'()*,;:@"])
    func roundTrip(kind: StoreKind, name: String) async throws {
        let store = try TestStore(kind)
        let key = store.freshKey(name)
        let url = try store.presignV2("PUT", key, headers: Self.headers)
        let uploaded = try await store.send("PUT", url.url, headers: url.requiredHeaders, body: Self.body)
        #expect(uploaded.status == 200, "\(uploaded.text)")
        let query = [NamedValue("response-content-type", "text/x-ours")]
        let downloaded = try await store.send("GET", try store.presignV2("GET", key, query: query).url)
        #expect(downloaded.status == 200)
        #expect(downloaded.body == Self.body)
        #expect(downloaded["Content-Type"] == "text/x-ours")
        #expect(try await store.download(key).body == Self.body)
    }

    @Test("another type, MD5, method, key or parameter is refused", arguments: StoreKind.allCases)
    func refusals(kind: StoreKind) async throws {
        let store = try TestStore(kind)
        let key = store.freshKey()
        let url = try store.presignV2("PUT", key, headers: Self.headers).url
        var changed = Self.headers
        changed[0].value = "text/html"
        #expect(try await store.send("PUT", url, headers: changed, body: Self.body).status == 403)
        changed = Self.headers
        changed[1].value = DigestAlgorithm.md5.digest(of: Array("other".utf8)).base64
        let other = try await store.send("PUT", url, headers: changed, body: Array("other".utf8))
        #expect(other.status == 403)
        let sent = try await store.send(
            "PUT", url, headers: Self.headers + [NamedValue("x-amz-meta-a", "1")], body: Self.body)
        #expect(sent.status == 403)
        #expect(try await store.send("GET", url, headers: Self.headers).status == 403)
        let moved = url.replacing("/object.bin?", with: "/another.bin?")
        #expect(try await store.send("PUT", moved, headers: Self.headers, body: Self.body).status == 403)
        let get = try store.presignV2("GET", key).url
        #expect(try await store.send("GET", get + "&response-content-type=text/html").status == 403)
        #expect(try await store.send("GET", get + "&acl").status == 403)
    }

    @Test("a URL ends with its life", arguments: StoreKind.allCases)
    func expiry(kind: StoreKind) async throws {
        let store = try TestStore(kind)
        let url = try store.presignV2("GET", store.freshKey(), secondsAgo: 100, expiresIn: 50).url
        #expect(try await store.send("GET", url).status == 403)
    }

    @Test("a request signed in its header", arguments: StoreKind.allCases)
    func header(kind: StoreKind) async throws {
        let store = try TestStore(kind)
        let request = SignableRequest(
            method: "PUT",
            address: try BucketAddress(endpoint: store.endpoint, bucket: store.bucket, addressing: .path),
            key: store.freshKey("a b.bin"),
            headers: Self.headers + [NamedValue("X-Amz-Meta-Owner", "some one")])
        let now = try #require(SigningInstant(epochSeconds: Int64(Date().timeIntervalSince1970)))
        let signed = try AWSV2.authorize(request, with: SigningKeyV2(store.credential), at: now)
        let answer = try await store.send("PUT", signed.url, headers: signed.headers, body: Self.body)
        #expect(answer.status == 200, "\(answer.text)")
        var changed = signed.headers
        let owner = try #require(changed.firstIndex { $0.name == "x-amz-meta-owner" })
        changed[owner].value = "another"
        #expect(try await store.send("PUT", signed.url, headers: changed, body: Self.body).status == 403)
    }

    @Test("a URL of temporary credentials")
    func session() async throws {
        let store = try TestStore.withSession()
        let key = store.freshKey()
        let url = try store.presignV2("PUT", key, headers: Self.headers)
        let uploaded = try await store.send("PUT", url.url, headers: url.requiredHeaders, body: Self.body)
        #expect(uploaded.status == 200, "\(uploaded.text)")
    }
}

extension TestStore {
    fileprivate func presignV2(
        _ method: String, _ key: String, headers: [NamedValue] = [], query: [NamedValue] = [], secondsAgo: Int = 0,
        expiresIn: Int = 300
    ) throws -> PresignedURL {
        let now = Int64(Date().timeIntervalSince1970)
        let instant = try #require(SigningInstant(epochSeconds: now - Int64(secondsAgo)))
        let request = PresignRequest(
            method: method, address: try BucketAddress(endpoint: endpoint, bucket: bucket, addressing: .path), key: key,
            headers: headers, query: query, expiresInSeconds: expiresIn)
        return try AWSV2.presign(request, with: SigningKeyV2(credential), at: instant)
    }
}
