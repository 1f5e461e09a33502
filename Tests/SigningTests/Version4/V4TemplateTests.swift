import Signing
import TestSupport
import Testing

/// A presigner keeps what its requests have in common; nothing else of a request may remain.
@Suite("Version 4, one presigner for many requests")
struct V4TemplateTests {
    private static let schemes: [PlainV4.Scheme] = [.awsQuery, .ossQuery, .gcsQuery]

    private func presigner(_ scheme: PlainV4.Scheme) -> V4Presigner {
        let scope: CredentialScope =
            switch scheme {
            case .ossQuery: .oss(region: "r")
            case .gcsQuery: .gcsHMAC()
            default: .aws(region: "r")
            }
        return V4Presigner(SigningCredential(accessKeyID: "id", secretAccessKey: "secret"), scope: scope)
    }

    @Test(arguments: schemes, 0..<UInt64(4))
    func `one that signed other requests signs like a new one`(scheme: PlainV4.Scheme, seed: UInt64) throws {
        var random = SeededGenerator(seed: 77 + seed)
        let used = presigner(scheme)
        for _ in 0..<100 {
            let generated = GeneratedRequest(for: scheme, using: &random)
            var request = PresignRequest(
                method: generated.method, address: try generated.address, key: generated.key,
                headers: generated.headers.map { NamedValue($0.name, $0.value) },
                query: generated.query.map { NamedValue($0.name, $0.value) },
                expiresInSeconds: generated.expiresInSeconds)
            let second = Int64.random(in: 0..<86_400, using: &random)
            let later = try #require(SigningInstant(epochSeconds: 1_715_904_000 + second))
            for _ in 0..<2 {
                #expect(try used.url(for: request, at: later) == presigner(scheme).url(for: request, at: later))
                // The same names with other values, and once more without the query.
                request.headers = request.headers.map {
                    NamedValue($0.name, $0.name == "host" ? $0.value : "v \($0.value)")
                }
                request.key += "x"
                request.query = []
            }
        }
    }

    @Test(arguments: schemes) func `each second and each day is signed as itself, in any order`(
        scheme: PlainV4.Scheme
    ) throws {
        let used = presigner(scheme)
        let address = try BucketAddress(
            endpoint: StoreEndpoint("https://s.example"), bucket: "demo", addressing: .path)
        let midnight: Int64 = 1_715_904_000
        for offset in [-1, 0, 0, -1, -2, 1, 0, 86_399, 86_400, 0, 3 * 86_400, -1] as [Int64] {
            let instant = try #require(SigningInstant(epochSeconds: midnight + offset))
            for method in ["GET", "PUT"] {
                let request = PresignRequest(method: method, address: address, key: "k", expiresInSeconds: 60)
                #expect(try used.url(for: request, at: instant) == presigner(scheme).url(for: request, at: instant))
                #expect(try used.key(at: instant).dayNumber == instant.dayNumber)
            }
        }
    }

    @Test(arguments: schemes) func `buckets are told apart`(scheme: PlainV4.Scheme) throws {
        let instant = try #require(SigningInstant(epochSeconds: 1_715_934_600))
        let used = presigner(scheme)
        for (host, bucket) in [("s.example", "a-1"), ("s.example", "b-1"), ("t.example", "b-1"), ("s.example", "a-1")] {
            let address = try BucketAddress(
                endpoint: StoreEndpoint("https://\(host)"), bucket: bucket, addressing: .virtual)
            let request = PresignRequest(method: "GET", address: address, key: "k", expiresInSeconds: 60)
            let url = try used.url(for: request, at: instant)
            #expect(try url == presigner(scheme).url(for: request, at: instant))
            #expect(url.hasPrefix("https://\(bucket).\(host)/k?"))
        }
    }

    @Test(arguments: schemes) func `headers are told apart by their names, whatever the order`(
        scheme: PlainV4.Scheme
    ) throws {
        let instant = try #require(SigningInstant(epochSeconds: 1_715_934_600))
        let used = presigner(scheme)
        let address = try BucketAddress(
            endpoint: StoreEndpoint("https://s.example"), bucket: "demo", addressing: .path)
        func url(_ headers: [NamedValue], _ presigner: V4Presigner) throws -> String {
            try presigner.url(
                for: PresignRequest(method: "PUT", address: address, key: "k", headers: headers, expiresInSeconds: 60),
                at: instant)
        }
        let (md5, type) = (NamedValue("content-md5", "1"), NamedValue("content-type", "2"))
        let shapes =
            [
                [], [md5], [type], [md5, type], [type, md5], [NamedValue("Content-Type", "2"), md5],
                [NamedValue("host", "s.example")], [type, NamedValue("host", "s.example")],
            ] + (0..<40).map { [type, NamedValue("x-\($0)", "3")] }
        for shape in shapes + shapes.reversed() { #expect(try url(shape, used) == url(shape, presigner(scheme))) }
        #expect(try url([md5, type], used) == url([type, md5], used))
        #expect(try url([NamedValue("Content-Type", "2"), md5], used) == url([type, md5], used))
    }

    @Test(arguments: schemes) func `what is refused at first is refused later`(scheme: PlainV4.Scheme) throws {
        let instant = try #require(SigningInstant(epochSeconds: 1_715_934_600))
        let used = presigner(scheme)
        let address = try BucketAddress(
            endpoint: StoreEndpoint("https://s.example"), bucket: "demo", addressing: .path)
        func url(_ name: String, _ value: String) throws -> String {
            try used.url(
                for: PresignRequest(
                    method: "PUT", address: address, key: "k", headers: [NamedValue(name, value)], expiresInSeconds: 60),
                at: instant)
        }
        _ = try url("k", "v")
        _ = try url("host", "s.example")
        // Canonically equivalent to a capital K, but not a valid name.
        #expect(throws: SigningError.invalidHeaderName("\u{212A}")) { try url("\u{212A}", "v") }
        _ = try url("K", "v")
        #expect(throws: SigningError.invalidHeaderName("\u{212A}")) { try url("\u{212A}", "v") }
        #expect(throws: SigningError.reservedHeader("host")) { try url("host", "other.example") }
        for value in ["a\nb", "a\r", "\0", "a b\n"] {
            #expect(throws: SigningError.invalidHeaderValue(name: "k")) { try url("k", value) }
        }
        #expect(throws: SigningError.reservedHeader("authorization")) { try url("authorization", "v") }
    }

    @Test(arguments: schemes) func `a URL is whole however long its parts are`(scheme: PlainV4.Scheme) throws {
        let instant = try #require(SigningInstant(epochSeconds: 1_715_934_600))
        let used = presigner(scheme)
        // The path that is signed is longer than the origin and path that are sent, or much shorter.
        for (host, bucket, addressing) in [
            ("a.b", String(repeating: "b", count: 63), Addressing.cname), ("a.b", "b-1", .virtual),
            (String(repeating: "h", count: 200) + ".example", "b-1", .path),
        ] {
            let address = try BucketAddress(
                endpoint: StoreEndpoint("http://\(host)"), bucket: bucket, addressing: addressing)
            for method in ["GET", "DELETE", "VERSIONCONTROL"] {
                for name in ["", "k", String(repeating: "ü/", count: 700)] {
                    let url = try used.url(
                        for: PresignRequest(method: method, address: address, key: name, expiresInSeconds: 604_800),
                        at: instant)
                    let path = name.replacing("ü", with: "%C3%BC")
                    #expect(url.hasPrefix("\(address.origin)\(address.path)/\(path)?"))
                    #expect(url.dropLast(64).hasSuffix("ignature="))
                }
            }
        }
    }
}
