import Foundation
import Signing
import TestSupport
import Testing

/// Cookies of `botocore.signers.CloudFrontSigner`, and a network that reads a policy as CloudFront does.
@Suite("CDN cookies")
struct CookieTests {
    private static let vectors = V2Vector.of("cloudfront-cookies", in: "cdn_cookies")

    @Test func allVectorsAreThere() {
        #expect(Self.vectors.count == 12)
    }

    @Test(arguments: vectors)
    func eachStageIsByteForByteTheSame(vector: V2Vector) throws {
        let signed = try vector.cookies()
        #expect(signed.stringToSign == vector.expected.stringToSign)
        #expect(signed.signature == vector.expected.signature)
        #expect(signed.url == vector.expected.url && signed.path == vector.expected.path)
        let cookies = Dictionary(uniqueKeysWithValues: signed.cookies.map { ($0.name, $0.value) })
        #expect(cookies == vector.expected.cookies)
        let host = try #require(URLComponents(string: signed.url)?.host)
        #expect(signed.host == host)
    }

    enum Change: CaseIterable, Sendable {
        case prefix, shorter, second, address, noAddress, host
    }

    @Test(arguments: vectors, Change.allCases)
    func aChangedInputChangesTheSignature(vector: V2Vector, change: Change) throws {
        var changed = vector
        switch change {
        case .prefix: changed.inputs.key = "x" + (vector.inputs.key ?? "")
        case .shorter:
            guard let key = vector.inputs.key, !key.isEmpty else { return }
            changed.inputs.key = String(key.dropLast())
        case .second: changed.inputs.expiresIn = (vector.inputs.expiresIn ?? 0) == 1 ? 2 : 1
        case .address: changed.inputs.sourceAddress = "203.0.113.8"
        case .noAddress:
            guard vector.inputs.sourceAddress != nil else { return }
            changed.inputs.sourceAddress = nil
        case .host: changed.inputs.endpoint = "https://other.example"
        }
        #expect(try changed.cookies().signature != vector.expected.signature)
    }

    // MARK: What a policy opens

    private static let instant = SigningInstant(epochSeconds: 1_715_934_600)

    private static func signed(
        _ prefix: String, at endpoint: String = "https://cdn.example", bucket: String = "demo-bucket",
        _ addressing: Addressing = .cname, life: Int = 900, for address: String? = nil, by scheme: CDNScheme? = nil
    ) throws -> SignedCookies {
        let request = CDNCookieRequest(
            address: try BucketAddress(endpoint: StoreEndpoint(endpoint), bucket: bucket, addressing: addressing),
            prefix: prefix, expiresInSeconds: life)
        let credential = SigningCredential(accessKeyID: "K2JCJMDEHXQW5F", secretAccessKey: TestKey.pem)
        return try CDNSigner(scheme ?? .cloudFront(.sha256), credential)
            .cookies(request, for: address, at: try #require(instant))
    }

    private static let pieces = [
        "a", "b", "ab", "A", "é", "e\u{301}", "日", " ", "+", "%", "%2F", "%2a", "&", "=", "#", "\"", "\\", "~", "'",
        "(", ";", ",", "[", "|", "..", ".", "/",
    ]

    private static func text(_ count: ClosedRange<Int>, _ random: inout SeededGenerator) -> String {
        (0..<Int.random(in: count, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
    }

    /// Whatever object a client names by a whole URL: the cookies open it if, and only if, it lies in the prefix.
    @Test func nothingOutsideOfThePrefixIsOpen() throws {
        var random = SeededGenerator(seed: 31)
        var (opened, closed) = (0, 0)
        for round in 0..<120 {
            var prefix = Self.text(0...4, &random)
            let isBelow = prefix.isEmpty || Bool.random(using: &random)
            if isBelow, !prefix.isEmpty { prefix += "/" }
            if !isBelow, prefix.hasSuffix("/") { prefix += "x" }
            let isInPath = round.isMultiple(of: 2)
            let signed = try Self.signed(prefix, isInPath ? .path : .cname)
            let network = try CloudFrontReading(signed)
            let front = "https://cdn.example/" + (isInPath ? "demo-bucket/" : "")
            for _ in 0..<60 {
                // Half of the keys are near the prefix.
                var key =
                    Bool.random(using: &random)
                    ? prefix : String(prefix.dropLast(Int.random(in: 0...2, using: &random)))
                key += Self.text(0...3, &random)
                let isInside = isBelow ? key.utf8.starts(with: prefix.utf8) : key.utf8.elementsEqual(prefix.utf8)
                #expect(network.opens(front + CloudFrontReading.escaped(key)) == isInside, "\(prefix) \(key)")
                if isInside { opened += 1 } else { closed += 1 }
            }
            for other in [
                "https://cdn.example/demo-bucket2/" + CloudFrontReading.escaped(prefix) + "x",
                "https://other.example/" + CloudFrontReading.escaped(prefix) + "x",
                "http://cdn.example/" + CloudFrontReading.escaped(prefix) + "x",
                "https://cdn.example.evil.example/" + CloudFrontReading.escaped(prefix),
            ] where isInPath || !other.hasPrefix("https://cdn.example/") || !isBelow {
                #expect(!network.opens(other), "\(prefix) \(other)")
            }
        }
        #expect(opened > 1500 && closed > 1500)
    }

    @Test func cookiesForOneObjectOpenItWithoutAQuery() throws {
        for address in [nil, "192.0.2.1"] {
            let network = try CloudFrontReading(Self.signed("films/1.mp4", for: address))
            #expect(network.opens("https://cdn.example/films/1.mp4"))
            for end in ["?versionId=1", "?", "/", "x", "*"] {
                #expect(!network.opens("https://cdn.example/films/1.mp4" + end), "\(end)")
            }
            #expect(network.address == address && network.end == 1_715_935_500)
        }
        // Below a prefix, the query is open to the holder; grants say so.
        #expect(try CloudFrontReading(Self.signed("films/")).opens("https://cdn.example/films/1.mp4?versionId=1"))
    }

    @Test func whatPoliciesCannotNameIsRefused() throws {
        for prefix in ["a*/", "*", "a?/", "?", "films/*", "films/1?.mp4"] {
            #expect(throws: SigningError.self, "\(prefix)") { try Self.signed(prefix) }
        }
        for life in [0, -1, 604_801] {
            #expect(throws: SigningError.self, "\(life)") { try Self.signed("a/", life: life) }
        }
        for address in ["2001:db8::1", "", #"1","x":"#, "192.0.2.0/24"] {
            #expect(throws: SigningError.conditionNotSupported("IpAddress")) { try Self.signed("a/", for: address) }
        }
        for scheme in [CDNScheme.alibaba(.a, validity: 60), .alibaba(.b, validity: 60), .nginxSecureLink] {
            #expect(throws: SigningError.conditionNotSupported("cookies")) { try Self.signed("a/", by: scheme) }
        }
    }
}

extension V2Vector {
    /// The cookies that the inputs give.
    fileprivate func cookies() throws -> SignedCookies {
        let credential = SigningCredential(
            accessKeyID: inputs.accessKeyID, secretAccessKey: try #require(inputs.privateKeyPEM))
        let request = CDNCookieRequest(
            address: try inputs.address, prefix: try #require(inputs.key),
            expiresInSeconds: try #require(inputs.expiresIn))
        return try CDNSigner(.cloudFront(inputs.hash == "SHA-256" ? .sha256 : .sha1), credential)
            .cookies(request, for: inputs.sourceAddress, at: inputs.instant)
    }
}

/// CloudFront as its documentation describes it: it composes a canned policy of the request's URL, and compares the
/// resource of a custom one, in which `*` stands for any characters and `?` for one.
private struct CloudFrontReading {
    private let resource: String?
    private let cannedPolicy: String
    let end: Int?
    private(set) var address: String?

    init(_ signed: SignedCookies) throws {
        let cookies = Dictionary(uniqueKeysWithValues: signed.cookies.map { ($0.name, $0.value) })
        guard let policy = cookies["CloudFront-Policy"] else {
            resource = nil
            end = Int(try #require(cookies["CloudFront-Expires"]))
            cannedPolicy = signed.stringToSign
            return
        }
        let base64 = policy.replacing("-", with: "+").replacing("_", with: "=").replacing("~", with: "/")
        let data = try #require(Data(base64Encoded: base64))
        #expect(String(decoding: data, as: UTF8.self) == signed.stringToSign)
        let root = try #require(try JSONSerialization.jsonObject(with: data) as? [String: [[String: Any]]])
        let statements = try #require(root["Statement"])
        #expect(statements.count == 1 && root.count == 1)
        let statement = try #require(statements.first)
        resource = try #require(statement["Resource"] as? String)
        let conditions = try #require(statement["Condition"] as? [String: [String: Any]])
        end = conditions["DateLessThan"]?["AWS:EpochTime"] as? Int
        address = (conditions["IpAddress"]?["AWS:SourceIp"] as? String)?.replacing("/32", with: "")
        cannedPolicy = ""
    }

    /// Whether a request for a URL passes, at an instant and from an address that do.
    func opens(_ url: String) -> Bool {
        if let resource { return Self.matches(Array(resource.utf8)[...], Array(url.utf8)[...]) }
        let policy =
            #"{"Statement":[{"Resource":"\#(url)","Condition":{"DateLessThan":{"AWS:EpochTime":\#(end ?? 0)}}}]}"#
        return policy == cannedPolicy
    }

    private static func matches(_ pattern: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == UInt8(ascii: "*") {
            return pattern.count == 1 || matches(pattern.dropFirst(), text)
                || (!text.isEmpty && matches(pattern, text.dropFirst()))
        }
        guard let next = text.first, first == UInt8(ascii: "?") || first == next else { return false }
        return matches(pattern.dropFirst(), text.dropFirst())
    }

    /// A key as it stands in a URL.
    static func escaped(_ key: String) -> String {
        let kept = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
        return key.addingPercentEncoding(withAllowedCharacters: kept) ?? ""
    }
}
