import Foundation
import Signing
import TestSupport
import Testing

@Suite("Strings to sign, mutated")
struct StringFuzzTests {
    /// Number of strings for each generator. 10⁷ in all take minutes with an optimised build.
    static let stringsPerSeed =
        (ProcessInfo.processInfo.environment["SLUICE_TEST_STRINGS"].flatMap { Int($0) } ?? 100_000) / 10

    @Test(arguments: 0..<10)
    func whateverIsPermittedIsReadInOneWay(seed: UInt64) throws {
        var mutator = StringMutator(seed: seed)
        let now = try #require(SigningInstant(extended: "2024-05-17T08:30:00Z"))
        let rules = StringRules(now: now, maxLifeSeconds: 3600)
        var permittedCount = 0
        for _ in 0..<Self.stringsPerSeed {
            let (text, vendor) = mutator.next()
            guard let received = try? ReceivedStringToSign(text, vendor: vendor),
                let permitted = try? received.permitted(by: rules)
            else { continue }
            permittedCount += 1
            guard permitted.text.utf8.elementsEqual(text.utf8), received.text.utf8.elementsEqual(text.utf8) else {
                Issue.record("Another string would be signed than \(text.debugDescription)")
                return
            }
            let reading = PlainReading(text, vendor: vendor)
            let permission = permitted.permission
            guard reading.flaw == nil, reading.method == received.method,
                reading.bucket.utf8.elementsEqual(permission.bucket.utf8),
                reading.key.utf8.elementsEqual(permission.key.utf8),
                reading.operation == permission.operation.rawValue
            else {
                Issue.record("Another reading (\(reading.flaw ?? "\(reading)")) of \(text.debugDescription)")
                return
            }
        }
        // The mutations are mild enough that some strings remain valid.
        #expect(permittedCount > Self.stringsPerSeed / 100)
    }

    @Test(arguments: 0..<10)
    func whateverRequestIsPermittedIsReadInOneWay(seed: UInt64) throws {
        var mutator = StringMutator(seed: 100 + seed)
        var permittedCount = 0
        // Each needs its own hash.
        let count = Self.stringsPerSeed / 10
        for _ in 0..<count {
            let text = mutator.nextRequest()
            guard let permitted = try? Asked.oss(text, token: nil).permit() else { continue }
            permittedCount += 1
            let permission = permitted.permission
            let scope = CredentialScope.oss(region: "cn-hangzhou")
            let lines = text.components(separatedBy: "\n")
            let path = (lines[1].removingPercentEncoding ?? "").utf8
            guard try ReceivedCanonicalRequest(text, scope: scope).text.utf8.elementsEqual(text.utf8),
                path.elementsEqual("/demo-bucket/\(permission.key)".utf8), permission.bucket == "demo-bucket",
                let names = PlainReading.namesBesidesSignature(in: lines[2]),
                PlainReading.operation(lines[0], names) == permission.operation.rawValue
                    || names.contains("encoding-type") && lines[0] == "POST"
                        && PlainReading.operation(lines[0], names.subtracting(["encoding-type"]))
                            == permission.operation.rawValue
                    || names.isSubset(of: ["uploadId", "max-parts", "part-number-marker", "encoding-type"])
                        && permission.operation == .listParts,
                !lines.contains(where: { $0.hasPrefix("x-oss-copy") || $0.hasPrefix("x-oss-callback") })
            else {
                Issue.record("Another reading of \(text.debugDescription)")
                return
            }
        }
        #expect(permittedCount > count / 100)
    }
}

/// Makes strings from valid ones by small changes that an attacker would try.
struct StringMutator {
    private var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    private static let seeds: [(String, StoreVendor)] = [
        ("PUT\n\nimage/png\nFri, 17 May 2024 08:30:00 GMT\n/demo-bucket/u/42/a.png", .alibaba),
        (
            "PUT\n1B2M2Y8AsgTpgAmY7PhCfg==\nimage/png\nFri, 17 May 2024 08:30:00 GMT\nx-oss-meta-a:1:2\n"
                + "x-oss-object-acl:private\n/demo-bucket/u/42/日本 +.png", .alibaba
        ),
        ("GET\n\n\n1715936400\n/demo-bucket/u/42/a.png?x-oss-process=image/resize,w_100", .alibaba),
        (
            "GET\n\n\n1715936400\n/demo-bucket/u/42/a.png?response-content-disposition=attachment; filename=\"a.png\""
                + "&response-content-type=image/png", .alibaba
        ),
        ("HEAD\n\n\nFri, 17 May 2024 08:30:00 GMT\n/demo-bucket/u/42/a.png?objectMeta", .alibaba),
        ("POST\n\nvideo/mp4\nFri, 17 May 2024 08:30:00 GMT\n/demo-bucket/u/42/a.mp4?uploads", .alibaba),
        (
            "PUT\n\nvideo/mp4\nFri, 17 May 2024 08:30:00 GMT\n/demo-bucket/u/42/a.mp4?partNumber=1&uploadId=ABC",
            .alibaba
        ),
        ("DELETE\n\n\nFri, 17 May 2024 08:30:00 GMT\n/demo-bucket/u/42/a.mp4?uploadId=ABC", .alibaba),
        (
            "PUT\n\nimage/png\nFri, 17 May 2024 08:30:00 GMT\nx-oss-date:Fri, 17 May 2024 08:30:00 GMT\n/demo-bucket/a",
            .alibaba
        ),
        ("PUT\n\nimage/jpeg\nFri, 17 May 2024 17:30:00 +0900\nx-amz-meta-a:1\n/photos/a%20b/%E6%97%A5.jpg", .amazon),
        ("GET\n\n\n\nx-amz-date:Fri, 17 May 2024 08:30:00 GMT\n/photos/a.jpg?versionId=1", .amazon),
        ("GET\n\n\n1715936400\n/photos/a.jpg?response-content-type=image/png", .google),
    ]

    private static let pieces = [
        "?", "&", "=", "/", "//", "..", "/../", "\n", "\n/demo-bucket/b", ":", " ", "+", "%2F", "%2e", "%", "\\", "\r",
        "\0", "\t", "acl", "?acl", "&acl", "&tagging", "?uploads", "uploadId=", "&versionId=2", "partNumber=2",
        "callback",
        "|sys/saveas,o_YQ", "x-oss-copy-source:/demo-bucket/s\n", "x-oss-callback:e30=\n", "x-oss-meta-z:1\n",
        "x-oss-object-acl:public-read\n", "x-amz-acl:public-read\n", "x-oss-security-token:t\n", "security-token=t",
        "1715936400", "9999999999", "Fri, 17 May 2024 08:30:00 GMT", "GET", "PUT", "POST", "DELETE", "\u{301}",
        "\u{212A}",
        "é", "e\u{301}", "\u{600}", "\u{2028}", "${", "}", ".", "0", "a", "A", "-",
    ].map { Array($0.utf8) }

    mutating func next() -> (text: String, vendor: StoreVendor) {
        let (seed, vendor) = pick(Self.seeds)
        var bytes = Array(seed.utf8)
        for _ in 0..<Int.random(in: 1...3, using: &random) { mutate(&bytes) }
        return (String(decoding: bytes, as: UTF8.self), vendor)
    }

    private static let requests = [
        "PUT\n/demo-bucket/u/a%20b.png\n\ncontent-type:image/png\nx-oss-content-sha256:UNSIGNED-PAYLOAD\n"
            + "x-oss-date:20240517T083000Z\nx-oss-meta-a:1\n\n\nUNSIGNED-PAYLOAD",
        "PUT\n/demo-bucket/a\n\ncontent-length:1\ncontent-type:a/b\nx-oss-content-sha256:UNSIGNED-PAYLOAD\n"
            + "x-oss-date:20240517T083000Z\n\ncontent-length\nUNSIGNED-PAYLOAD",
        "GET\n/demo-bucket/a\nmax-parts=10&uploadId=A\nx-oss-content-sha256:UNSIGNED-PAYLOAD\n"
            + "x-oss-date:20240517T083000Z\n\n\nUNSIGNED-PAYLOAD",
        "GET\n/demo-bucket/u/%E6%97%A5\nresponse-content-type=image%2Fpng&x-oss-credential="
            + "LTAIFAKEPUBLIC000001%2F20240517%2Fcn-hangzhou%2Foss%2Faliyun_v4_request&x-oss-date=20240517T083000Z"
            + "&x-oss-expires=1800&x-oss-signature-version=OSS4-HMAC-SHA256\n\n\nUNSIGNED-PAYLOAD",
    ]

    /// A canonical request of OSS V4.
    mutating func nextRequest() -> String {
        var bytes = Array(pick(Self.requests).utf8)
        for _ in 0..<Int.random(in: 1...2, using: &random) { mutate(&bytes) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func mutate(_ bytes: inout [UInt8]) {
        let index = Int.random(in: 0...bytes.count, using: &random)
        switch Int.random(in: 0..<7, using: &random) {
        case 0 where index < bytes.count: bytes[index] = UInt8.random(in: 0...255, using: &random)
        case 1 where index < bytes.count: bytes.remove(at: index)
        case 2: bytes.insert(contentsOf: pick(Self.pieces), at: index)
        case 3: bytes.append(contentsOf: pick(Self.pieces))
        case 4:
            let end = min(bytes.count, index + Int.random(in: 0...6, using: &random))
            bytes.replaceSubrange(index..<end, with: pick(Self.pieces))
        case 5:
            var lines = bytes.split(separator: 10, omittingEmptySubsequences: false)
            let (from, to) = (
                Int.random(in: 0..<lines.count, using: &random), Int.random(in: 0...lines.count, using: &random)
            )
            lines.insert(lines[from], at: to)
            bytes = Array(lines.joined(separator: [10]))
        default:
            var lines = bytes.split(separator: 10, omittingEmptySubsequences: false)
            lines.swapAt(
                Int.random(in: 0..<lines.count, using: &random), Int.random(in: 0..<lines.count, using: &random))
            bytes = Array(lines.joined(separator: [10]))
        }
    }

    private mutating func pick<Choice>(_ choices: [Choice]) -> Choice {
        choices[Int.random(in: 0..<choices.count, using: &random)]
    }
}

/// Reads a string to sign once more, plainly and from its other end: how stores would interpret it, and what it must
/// not contain.
struct PlainReading {
    private(set) var method = ""
    private(set) var bucket = ""
    private(set) var key = ""
    private(set) var operation = ""
    /// The reason why nobody should sign the string; `nil` where there is none.
    private(set) var flaw: String?

    init(_ text: String, vendor: StoreVendor) {
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            .map { String(String.UnicodeScalarView($0)) }
        let resources = lines.dropFirst(4).filter { $0.unicodeScalars.first == "/" }
        guard lines.count >= 5, resources.count == 1, let resource = lines.last, resource == resources[0] else {
            flaw = "not one resource"
            return
        }
        method = lines[0]
        let scalars = Array(resource.unicodeScalars)
        let slash = scalars.dropFirst().firstIndex(of: "/") ?? scalars.endIndex
        let mark = scalars.firstIndex(of: "?") ?? scalars.endIndex
        guard slash + 1 < mark else {
            flaw = "no key"
            return
        }
        bucket = Self.string(scalars[1..<slash])
        let path = Self.string(scalars[(slash + 1)..<mark])
        key = vendor == .alibaba ? path : path.removingPercentEncoding ?? "no text"
        let names = Self.string(scalars[mark...].dropFirst()).components(separatedBy: "&").filter { !$0.isEmpty }
            .map { $0.components(separatedBy: "=")[0] }
        operation = Self.operation(method, Set(names)) ?? "unknown"
        flaw = Self.flaw(text, lines: lines, names: names, key: key)
    }

    /// Names in a canonical query, without those of the signature; `nil` where one occurs twice.
    static func namesBesidesSignature(in query: String) -> Set<String>? {
        let names = query.components(separatedBy: "&").filter { !$0.isEmpty }.map { $0.components(separatedBy: "=")[0] }
        guard Set(names).count == names.count else { return nil }
        let own = ["credential", "date", "expires", "signature-version", "additional-headers", "security-token"]
        return Set(names).subtracting(own.map { "x-oss-\($0)" })
    }

    static func operation(_ method: String, _ names: Set<String>) -> String? {
        let reading = names.filter { !$0.hasPrefix("response-") && $0 != "x-oss-process" && $0 != "versionId" }
        return switch (method, names.sorted().joined(separator: " ")) {
        case ("PUT", ""): "PutObject"
        case ("PUT", "partNumber uploadId"): "UploadPart"
        case ("HEAD", ""), ("HEAD", "versionId"): "HeadObject"
        case ("HEAD", "objectMeta"): "GetObjectMeta"
        case ("POST", "uploads"), ("POST", "sequential uploads"): "InitiateMultipartUpload"
        case ("POST", "uploadId"): "CompleteMultipartUpload"
        case ("DELETE", "uploadId"): "AbortMultipartUpload"
        case ("DELETE", ""): "DeleteObject"
        case ("GET", "uploadId"): "ListParts"
        case ("GET", _) where reading.isEmpty: "GetObject"
        default: nil
        }
    }

    private static func flaw(_ text: String, lines: [String], names: [String], key: String) -> String? {
        if names != names.sorted(by: { $0.unicodeScalars.lexicographicallyPrecedes($1.unicodeScalars) }) {
            return "unsorted parameters"
        }
        if Set(names).count != names.count { return "a parameter twice" }
        let headers = lines[4..<(lines.count - 1)].map { $0.lowercased() }
        for line in headers {
            guard line.hasPrefix("x-oss-") || line.hasPrefix("x-amz-") || line.hasPrefix("x-goog-") else {
                return "a line that is no header"
            }
            let name = line.components(separatedBy: ":")[0]
            // Metadata may have any name.
            if name.components(separatedBy: "-").dropFirst(2).first == "meta" { continue }
            let words = ["copy-source", "callback", "symlink", "-security-token", "grant", "tagging"]
            if words.contains(where: name.contains) { return "a dangerous header" }
            if name.contains("acl") && !line.hasSuffix(":private") && !line.hasSuffix(":default") {
                return "an open object"
            }
        }
        if text.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\n" }) { return "a control character" }
        if names.contains(where: { ["acl", "tagging", "callback", "delete", "append"].contains($0) }) { return "more" }
        let query = lines[lines.count - 1].lowercased().drop { $0 != "?" }
        if query.contains("saveas") && names.contains("x-oss-process") { return "a stored result" }
        let segments = key.components(separatedBy: "/")
        if segments.contains("") || segments.contains(".") || segments.contains("..") { return "a rewritten key" }
        guard let seconds = Int(lines[3]) else { return nil }
        return seconds > 1_715_934_600 && seconds <= 1_715_938_200 ? nil : "a life too long"
    }

    private static func string(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        String(String.UnicodeScalarView(scalars))
    }
}
