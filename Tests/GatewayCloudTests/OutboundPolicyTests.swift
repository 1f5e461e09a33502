import GatewayCore
import LibCurl
import Testing

@testable import GatewayCloud

@Suite struct OutboundPolicyTests {
    @Test(arguments: [
        "8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0", "223.255.255.255",
        "2606:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8",
    ])
    func publicAddresses(text: String) throws {
        #expect(PublicAddresses.contain(try #require(IPAddress(text))))
    }

    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.255", "169.254.169.254",
        "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.19.255.255",
        "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "::", "::1",
        "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1",
        "2001:db8::1", "2002:7f00:1::", "3fff::1", "fc00::1", "fd12:3456::1", "fe80::1", "fec0::1", "ff02::1",
    ])
    func addressesThatAreNotPublic(text: String) throws {
        #expect(!PublicAddresses.contain(try #require(IPAddress(text))))
    }

    @Test func bytesInNetworkOrderBecomeAddresses() {
        #expect(IPAddress(networkBytes: [192, 0, 2, 1]) == IPAddress("192.0.2.1"))
        let bytes: [UInt8] = [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        #expect(IPAddress(networkBytes: bytes) == IPAddress("2001:db8::1"))
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1]
        #expect(IPAddress(networkBytes: mapped) == IPAddress("127.0.0.1"))
        #expect(IPAddress(networkBytes: []) == nil)
    }

    @Test func originsAreOfSchemeHostAndPort() {
        #expect(Origin(of: "https://A.example/x") == Origin(of: "https://a.example:443"))
        #expect(Origin(of: "http://a.example?x") == Origin(of: "http://a.example:80/"))
        #expect(Origin(of: "http://a.example") != Origin(of: "https://a.example"))
        #expect(Origin(of: "https://[2001:db8::1]:8443/")?.port == 8443)
        #expect(Origin(of: "https://[2001:db8::1]/")?.host == "[2001:db8::1]")
    }

    @Test(arguments: [
        "", "https://", "https:///x", "https://a b/", "https://a\\b/", "https://u@a/", "https://u:p@a/", "https://a:/",
        "https://a:0/", "https://a:65536/", "https://a:+1/", "https://a:1:2/", "https://[::1", "https://[::1]x/",
        "https://[x]/", "https://ä.example/", "HTTPS://a/", "ftp://a/", "https://a\n/", "https://%61/",
    ])
    func urlsThatCanBeReadTwoWaysAreRefused(url: String) {
        #expect(Origin(of: url) == nil)
    }

    @Test(arguments: ["https://a/", "https://a/x", "http://a?x", "a.example", "https://*"])
    func listedOriginsAreOriginsAlone(text: String) {
        #expect(throws: GatewayError.self) { try OutboundPolicy(origins: [text]) }
    }
}
