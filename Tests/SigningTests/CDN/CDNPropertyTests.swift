import Foundation
import Signing
import TestSupport
import Testing

/// Links of generated keys and times, read by a network that shares no code with the signers.
@Suite("CDN links, generated inputs")
struct CDNPropertyTests {
    private static let secret = "aliyuncdnexp1234"
    private static let now = 1_715_934_600
    private static let pieces = ["a", "f", "7", "-", "%", "?", " ", "ü", "日", "+", "&", "=", "~", "'", "\"", "/b", "."]

    private static func key(using random: inout SeededGenerator) -> String {
        "k"
            + (0..<Int.random(in: 0...9, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
            .joined()
            + "z"
    }

    private static func link(
        _ scheme: CDNScheme, _ key: String, life: Int, from start: Int = now, bucketInPath: Bool = false
    ) throws -> PresignedURL {
        let credential = SigningCredential(accessKeyID: "main", secretAccessKey: secret)
        let address = try BucketAddress(
            endpoint: StoreEndpoint("https://cdn.example"), bucket: "demo-bucket",
            addressing: bucketInPath ? .path : .cname)
        let request = PresignRequest(method: "GET", address: address, key: key, expiresInSeconds: life)
        let instant = try #require(SigningInstant(epochSeconds: Int64(start)))
        return try CDNSigner(scheme, credential).presign(request, at: instant)
    }

    private static func encodedPath(_ key: String) throws -> String {
        let kept = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
        return "/" + (try #require(key.addingPercentEncoding(withAllowedCharacters: kept)))
    }

    @Test(arguments: [("A", .a), ("B", .b), ("C", .c)] as [(Character, AlibabaCDN.Form)])
    func alibabaReadsTheObjectAndTheEnd(name: Character, form: AlibabaCDN.Form) throws {
        var random = SeededGenerator(seed: 11)
        for _ in 0..<500 {
            let key = Self.key(using: &random)
            let validity = [1, 59, 60, 1800, 86_400].randomElement(using: &random) ?? 1
            let start = Self.now + Int.random(in: 0...100_000, using: &random)
            let life = Int.random(in: 1...604_800, using: &random)
            let scheme = CDNScheme.alibaba(form, validity: validity)
            let url = try Self.link(scheme, key, life: life, from: start).url
            let meaning = try #require(CDNReading.alibaba(name, url, secret: Self.secret, validity: validity), "\(url)")
            #expect(try meaning.path == Self.encodedPath(key))
            // Accepted in the second that it names, so dead in the next.
            let lost = AlibabaCDN.lostSeconds(of: form, endingAt: Int64(start + life), validity: validity)
            #expect(0..<(form == .b ? 60 : 1) ~= lost)
            #expect(meaning.end + 1 == start + life - lost)
            #expect(CDNReading.alibaba(name, url + "x", secret: Self.secret, validity: validity) == nil)
            #expect(CDNReading.alibaba(name, url, secret: Self.secret + "x", validity: validity) == nil)
        }
    }

    /// Path and instant of type C are hashed without a separator. Whoever moves characters from one to the other must
    /// not get another link out of it.
    @Test func noCharacterMovesBetweenPathAndInstant() throws {
        var random = SeededGenerator(seed: 12)
        var signed = 0
        for _ in 0..<800 {
            let ending = ["", ".mp4", "/a", "cafe", ".png", "é", "Z"].randomElement(using: &random) ?? ""
            let key = Self.key(using: &random) + ending
            guard let link = try? Self.link(.alibaba(.c, validity: 1800), key, life: 900) else { continue }
            signed += 1
            let parts = link.path.split(separator: "/", maxSplits: 2).map(String.init)
            let whole = "/\(parts[2])\(parts[1])"
            for place in whole.indices.dropFirst(2) where whole[place...] != parts[1] {
                let forged = "https://cdn.example/\(parts[0])/\(whole[place...])\(whole[..<place])"
                let meaning = CDNReading.alibaba("C", forged, secret: Self.secret, validity: 1800)
                #expect(meaning.map { $0.end < Self.now } ?? true, "\(key): \(forged)")
            }
        }
        #expect(signed > 100)
        for key in ["a.mp4", "a.PDF", "cafe", "0", "é", "a?"] {
            #expect(throws: SigningError.self) { try Self.link(.alibaba(.c, validity: 1800), key, life: 900) }
        }
        _ = try Self.link(.alibaba(.c, validity: 1800), "a.png", life: 900)
    }

    @Test func nginxReadsTheObjectAndTheEnd() throws {
        var random = SeededGenerator(seed: 13)
        for number in 0..<500 {
            let key = Self.key(using: &random)
            let life = Int.random(in: 1...604_800, using: &random)
            let url = try Self.link(.nginxSecureLink, key, life: life, bucketInPath: number.isMultiple(of: 2)).url
            let meaning = try #require(CDNReading.nginx(url, secret: Self.secret), "\(url)")
            #expect(meaning.path == (number.isMultiple(of: 2) ? "/demo-bucket/" : "/") + key)
            #expect(meaning.end + 1 == Self.now + life)
            #expect(CDNReading.nginx(url.replacing("expires=", with: "expires=1"), secret: Self.secret) == nil)
            #expect(CDNReading.nginx(url.replacing("z?", with: "zz?"), secret: Self.secret) == nil)
        }
    }

    @Test func whatNoNetworkBindsIsRefused() throws {
        let credential = SigningCredential(accessKeyID: "K2JCJMDEHXQW5F", secretAccessKey: TestKey.pem)
        let schemes: [CDNScheme] = [
            .cloudFront(.sha1), .alibaba(.a, validity: 1800), .alibaba(.b, validity: 1800), .nginxSecureLink,
        ]
        let instant = try #require(SigningInstant(epochSeconds: Int64(Self.now)))
        for scheme in schemes {
            let signer = try CDNSigner(scheme, credential)
            func refusal(
                for address: String? = nil, _ change: (inout PresignRequest) -> Void = { _ in }
            ) throws -> SigningError? {
                var request = PresignRequest(
                    method: "GET",
                    address: try BucketAddress(
                        endpoint: StoreEndpoint("https://cdn.example"), bucket: "demo-bucket", addressing: .cname),
                    key: "a/z", expiresInSeconds: 900)
                change(&request)
                do throws(SigningError) {
                    _ = try signer.presign(request, for: address, at: instant)
                    return nil
                } catch {
                    return error
                }
            }
            let isCloudFront = scheme == .cloudFront(.sha1)
            #expect(try refusal() == nil)
            for method in ["PUT", "HEAD", "DELETE", "get"] {
                #expect(try refusal { $0.method = method } == .methodNotBindable(method))
            }
            #expect(try refusal { $0.headers = [NamedValue("range", "bytes=0-1")] } == .headerNotBindable("range"))
            #expect(
                try refusal { $0.query = [NamedValue("versionId", "1")] }
                    == (isCloudFront ? nil : .queryNotBindable("versionId")))
            #expect(try refusal(for: "192.0.2.1") == (isCloudFront ? nil : .conditionNotSupported("IpAddress")))
            #expect(try refusal { $0.key = "" }?.code == "AmbiguousKey")
            #expect(try refusal { $0.pathForm = .slashEscaped }?.code == "PathNamesAnotherObject")
            for seconds in [0, -1, 604_801] {
                #expect(try refusal { $0.expiresInSeconds = seconds }?.code == "ExpiryOutOfRange")
            }
            if isCloudFront {
                for key in ["a*", "a?", "*/z"] {
                    #expect(try refusal { $0.key = key } == nil, "\(key)")
                    #expect(try refusal(for: "192.0.2.1") { $0.key = key }?.code == "AmbiguousKey", "\(key)")
                }
                for name in ["Expires", "Policy", "Signature", "Key-Pair-Id", "Hash-Algorithm"] {
                    #expect(
                        try refusal { $0.query = [NamedValue(name, "1")] } == .reservedQueryParameter(name))
                }
                for address in ["2001:db8::1", "", #"1","x":"#, "192.0.2.1/24"] {
                    #expect(try refusal(for: address) == .conditionNotSupported("IpAddress"))
                }
            }
            let temporary = SigningCredential(
                accessKeyID: credential.accessKeyID, secretAccessKey: credential.secretAccessKey, securityToken: "t")
            #expect(throws: SigningError.self) { try CDNSigner(scheme, temporary) }
            #expect(throws: SigningError.self) {
                try CDNSigner(scheme, SigningCredential(accessKeyID: "K2", secretAccessKey: ""))
            }
        }
        for id in ["", "K 2", "K/2", "K&2"] {
            #expect(throws: SigningError.self) {
                try CDNSigner(.cloudFront(.sha1), SigningCredential(accessKeyID: id, secretAccessKey: TestKey.pem))
            }
        }
    }
}
