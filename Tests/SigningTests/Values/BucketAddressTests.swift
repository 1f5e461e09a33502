import Signing
import Testing

@Suite("Endpoints and bucket addresses")
struct BucketAddressTests {
    @Test(arguments: [
        ("https://s3.example.com", "demo", Addressing.virtual, "https://demo.s3.example.com", ""),
        ("https://s3.example.com", "demo", .path, "https://s3.example.com", "/demo"),
        ("https://cdn.example.com", "demo", .cname, "https://cdn.example.com", ""),
        ("HTTPS://S3.Example.COM:443/", "demo", .virtual, "https://demo.s3.example.com", ""),
        ("http://s3.example.com:80", "demo", .path, "http://s3.example.com", "/demo"),
        ("http://s3.example.com:443", "demo", .path, "http://s3.example.com:443", "/demo"),
        ("http://[::1]:9000", "demo", .path, "http://[::1]:9000", "/demo"),
        ("http://[FE80::1]", "demo", .cname, "http://[fe80::1]", ""),
        ("http://127.0.0.1:9000/s3/", "dotted.bucket", .path, "http://127.0.0.1:9000", "/s3/dotted.bucket"),
        ("https://h/a%2fb c".replacing(" ", with: "%20"), "Upper_1", .path, "https://h", "/a/b%20c/Upper_1"),
        ("https://h", "sp ace/é", .path, "https://h", "/sp%20ace%2F%C3%A9"),
        ("https://h", "dotted.bucket", .virtual, "https://dotted.bucket.h", ""),
    ])
    func putsTheBucketWhereItBelongs(
        endpoint: String, bucket: String, addressing: Addressing, origin: String, path: String
    ) throws {
        let address = try BucketAddress(endpoint: StoreEndpoint(endpoint), bucket: bucket, addressing: addressing)
        #expect(address.origin == origin)
        #expect(address.path == path)
        #expect(origin.hasSuffix("//\(address.authority)"))
    }

    @Test(arguments: [
        "", "s3.example.com", "//s3.example.com", "ftp://s3.example.com", "https:/s3.example.com", "https://",
        "https://user@host", "https://user:pass@host", "https://host:0", "https://host:65536", "https://host:",
        "https://host:+80", "https://host:8x", "https://ho st", "https://höst", "https://host?a", "https://host/?a",
        "https://host/#a", "https://host/a b", "https://host/%zz", "https://host\n", "https://[::1", "https://[]",
        "https://[::1]x", "https://a\\b", "https://::1",
    ])
    func refusesWhatIsNoEndpoint(text: String) {
        let error = #expect(throws: SigningError.self, "\(text)") { try StoreEndpoint(text) }
        #expect(error?.code == "InvalidEndpoint")
    }

    @Test(arguments: ["", "-a", "a-", "a..b", ".a", "a.", "Upper", "a_b", "a/b", "a b", "é", "a@b", "a:1"])
    func refusesABucketThatCannotStandInAHost(bucket: String) {
        let error = #expect(throws: SigningError.self) {
            try BucketAddress(endpoint: StoreEndpoint("https://h"), bucket: bucket, addressing: .virtual)
        }
        #expect(error?.code == "InvalidBucketName")
    }

    @Test(arguments: ["http://127.0.0.1", "http://[::1]:9000"])
    func refusesABucketInFrontOfAnAddress(endpoint: String) {
        #expect(throws: SigningError.self) {
            try BucketAddress(endpoint: StoreEndpoint(endpoint), bucket: "demo", addressing: .virtual)
        }
    }
}
