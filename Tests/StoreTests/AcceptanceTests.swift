import Foundation
import HTTPTesting
import LibCrypto
import Signing
import TestSupport
import Testing

@Suite("What we sign, a store accepts", .withStores)
struct AcceptanceTests {
    static let body = Array("the bytes of an object".utf8)

    @Test("an upload, a download and a HEAD", arguments: StoreKind.allCases, [Addressing.path, .virtual])
    func roundTrip(kind: StoreKind, addressing: Addressing) async throws {
        let store = try TestStore(kind)
        let key = store.freshKey()
        let uploaded = try await store.upload(Self.body, to: key, addressing: addressing)
        #expect(uploaded.status == 200, "\(uploaded.text)")

        let downloaded = try await store.download(key, addressing: addressing)
        #expect(downloaded.status == 200)
        #expect(downloaded.body == Self.body)
        #expect(downloaded["Content-Type"] == "image/png")

        let head = try await store.send("HEAD", try store.presign("HEAD", key, addressing: addressing).url)
        #expect(head.status == 200)
        #expect(head["Content-Length"] == String(Self.body.count))
    }

    @Test("an object without bytes, its length bound", arguments: StoreKind.allCases)
    func emptyObject(kind: StoreKind) async throws {
        let store = try TestStore(kind)
        let key = store.freshKey()
        #expect(try await store.upload([], to: key).status == 200)
        let downloaded = try await store.download(key)
        #expect(downloaded.status == 200)
        #expect(downloaded.body.isEmpty)
    }

    @Test("a part of an object, although no Range was signed", arguments: StoreKind.allCases)
    func range(kind: StoreKind) async throws {
        let store = try TestStore(kind)
        let key = store.freshKey()
        #expect(try await store.upload(Self.body, to: key).status == 200)
        let url = try store.presign("GET", key).url
        let part = try await store.send("GET", url, headers: [NamedValue("Range", "bytes=4-8")])
        #expect(part.status == 206)
        #expect(part.text == "bytes")
    }

    @Test("metadata that was signed, kept with the object", arguments: StoreKind.allCases)
    func metadata(kind: StoreKind) async throws {
        let store = try TestStore(kind)
        let key = store.freshKey()
        let headers = binding(Self.body) + [NamedValue("x-amz-meta-owner", "two  words, and \"quotes\"")]
        let url = try store.presign("PUT", key, headers: headers)
        let uploaded = try await store.send("PUT", url.url, headers: url.requiredHeaders, body: Self.body)
        #expect(uploaded.status == 200, "\(uploaded.text)")
        let head = try await store.send("HEAD", try store.presign("HEAD", key).url)
        #expect(head["x-amz-meta-owner"] == "two  words, and \"quotes\"")
    }

    @Test("a SHA-256 checksum that was signed", arguments: StoreKind.allCases)
    func checksum(kind: StoreKind) async throws {
        let store = try TestStore(kind)
        let key = store.freshKey()
        let checksum = DigestAlgorithm.sha256.digest(of: Self.body).base64
        let headers = binding(Self.body) + [NamedValue("x-amz-checksum-sha256", checksum)]
        let url = try store.presign("PUT", key, headers: headers)
        let uploaded = try await store.send("PUT", url.url, headers: url.requiredHeaders, body: Self.body)
        #expect(uploaded.status == 200, "\(uploaded.text)")
        #expect(try await store.download(key).body == Self.body)
    }

    @Test("overrides of the answer's headers, a UTF-8 file name among them", arguments: StoreKind.allCases)
    func responseOverrides(kind: StoreKind) async throws {
        let store = try TestStore(kind)
        let key = store.freshKey()
        #expect(try await store.upload(Self.body, to: key).status == 200)
        let disposition =
            "attachment; filename=\"r+s t.pdf\"; filename*=UTF-8''%E6%8A%A5%E5%91%8A%20%26%20r%C3%A9sum%C3%A9.pdf"
        let url = try store.presign(
            "GET", key,
            query: [
                NamedValue("response-content-disposition", disposition),
                NamedValue("response-content-type", "application/pdf"),
                NamedValue("response-cache-control", "private, max-age=60"),
            ]
        )
        let downloaded = try await store.send("GET", url.url)
        #expect(downloaded.status == 200)
        #expect(downloaded["Content-Disposition"] == disposition)
        #expect(downloaded["Content-Type"] == "application/pdf")
        #expect(downloaded["Cache-Control"] == "private, max-age=60")
        #expect(downloaded.body == Self.body)
    }

    @Test("the longest life that the scheme has", arguments: StoreKind.allCases)
    func longestLife(kind: StoreKind) async throws {
        let store = try TestStore(kind)
        let key = store.freshKey()
        #expect(try await store.upload(Self.body, to: key).status == 200)
        let signedLongAgo = try store.presign("GET", key, secondsAgo: 604_000, expiresIn: 604_800)
        #expect(try await store.send("GET", signedLongAgo.url).status == 200)
    }

    @Test("the token of a session, and no other")
    func sessionToken() async throws {
        let store = try TestStore.withSession()
        let key = store.freshKey()
        let uploaded = try await store.upload(Self.body, to: key)
        #expect(uploaded.status == 200, "\(uploaded.text)")
        #expect(try await store.download(key).body == Self.body)

        let url = try store.presign("GET", key).url
        let name = try #require(url.firstRange(of: "X-Amz-Security-Token="))
        let end = try #require(url[name.upperBound...].firstIndex(of: "&"))
        let place = name.upperBound..<url.index(after: name.upperBound)
        let tampered = url.replacingCharacters(in: place, with: url[place.lowerBound] == "A" ? "B" : "A")
        // To the store, a token that cannot be decrypted is an invalid argument, reported before any signature is
        // checked.
        #expect([400, 403].contains(try await store.send("GET", tampered).status))

        let dropped = url.replacingCharacters(in: name.lowerBound...end, with: "")
        #expect(try await store.send("GET", dropped).status == 403)
    }
}
