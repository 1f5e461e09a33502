import Testing

@testable import GatewayCore

@Suite struct ConditionTests {
    @Test(arguments: [
        ("image/png", "image/png"), ("Image/PNG", "image/png"), ("image/*", "image/png"), ("IMAGE/*", "image/png"),
        ("text/*", "text/plain; charset=utf-8"), ("text/html", "Text/HTML;charset=x"),
        ("image/svg+xml", "image/svg+xml"),
        ("application/*", "application/pdf"), ("text/xml", "text/xml; charset=utf-8"),
        ("application/*", "application/xml-dtd"),
        ("application/atom+xml", "application/atom+xml"), ("text/*", "text/x+xmlish"), ("text/*", "text/javascript"),
        ("multipart/*", "multipart/related"), ("message/*", "message/rfc822"), ("application/*", "application/json"),
    ])
    func `a content type is covered`(pattern: String, type: String) throws {
        #expect(try #require(MediaType(type)).isCovered(by: pattern))
    }

    @Test(arguments: [
        ("image/png", "image/pngx"), ("image/png", "image/pn"), ("image/*", "imagex/png"), ("image/*", "image/svg+xml"),
        ("image/*", "IMAGE/SVG+XML"), ("text/*", "text/html"), ("text/*", "text/HTML; charset=utf-8"),
        ("application/*", "application/xhtml+xml"), ("*/*", "image/png"), ("image", "image/png"), ("", "image/png"),
        ("text/*", "text/xml"), ("text/*", "Text/XML; charset=utf-8"), ("application/*", "application/xml"),
        ("text/*", "text/xsl"), ("text/*", "text/rdf"), ("application/*", "application/mathml+xml"),
        ("application/*", "application/Atom+XML; type=entry"), ("model/*", "model/x3d+xml"), ("image/*", "image/+xml"),
        ("application/*", "application/unknown"), ("unknown/*", "unknown/unknown"),
        ("multipart/*", "multipart/x-mixed-replace; boundary=b"),
    ])
    func `a content type is not covered`(pattern: String, type: String) throws {
        #expect(try !#require(MediaType(type)).isCovered(by: pattern))
    }

    @Test(arguments: [
        "", "image", "image/", "/png", "image/*", "*/*", "image/png;", "image/png; a", "image/png; =b", "image/png;a=",
        "image/png\r\nx-evil: 1", "image/png ", " image/png", "image/png; a=\"b", "image/png; a=\"\u{e9}\"",
        "im age/png",
        "image/png, text/html", "image/png; a=\"\\\u{7}\"", "a/" + String(repeating: "b", count: 254),
    ])
    func `what is no content type is refused`(text: String) {
        #expect(MediaType(text) == nil)
    }

    @Test(arguments: [
        "image/png", "text/plain; charset=utf-8", "text/plain;charset=\"utf-8; \\\"x\"",
        "a/" + String(repeating: "b", count: 253),
    ])
    func `a content type is kept as written`(text: String) {
        #expect(MediaType(text)?.text == text)
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.255.255"), ("192.0.2.1", "192.0.2.1"), ("0.0.0.0/0", "203.0.113.9"),
        ("10.0.0.0/8", "::ffff:10.1.2.3"), ("::ffff:10.0.0.0/104", "10.1.2.3"), ("2001:db8::/32", "2001:db8:ffff::1"),
        ("::/0", "2001:db8::1"), ("::1", "0:0:0:0:0:0:0:1"), ("192.0.2.128/25", "192.0.2.128"),
        ("2001:db8:0:0:1::/80", "2001:db8::1:0:0:1"), ("64:ff9b::/96", "64:ff9b::192.0.2.1"), ("::/128", "::"),
    ])
    func `a network contains an address`(network: String, address: String) throws {
        #expect(try #require(IPNetwork(network)).contains(#require(IPAddress(address))))
    }

    @Test(arguments: [
        ("10.0.0.0/8", "11.0.0.0"), ("10.0.0.0/8", "9.255.255.255"), ("192.0.2.128/25", "192.0.2.127"),
        ("192.0.2.1", "192.0.2.2"), ("::/0", "192.0.2.1"), ("0.0.0.0/0", "2001:db8::1"),
        ("2001:db8::/32", "2001:db9::"),
        ("::/96", "::ffff:10.0.0.1"),
    ])
    func `a network does not contain an address`(network: String, address: String) throws {
        #expect(try !#require(IPNetwork(network)).contains(#require(IPAddress(address))))
    }

    @Test(arguments: [
        "", "10.0.0", "10.0.0.256", "10.0.0.01", "10.0.0.0.0", "0x7f.0.0.1", "1.2.3.4 ", "1.2.3.+4", ":", ":::",
        "1::2::3",
        "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "12345::", "g::", "::1%eth0", "[::1]", "1:2:3:4:5:6:7:1.2.3.4", "::1.2.3",
        "1::2:3:4:5:6:7:8", ":1::2", "1:::2", "+1::", "1.2.3.4::",
    ])
    func `what is no address is refused`(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test(arguments: [
        "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/08", "10.0.0.0/8/8", "2001:db8::1/32",
        "::/129",
        "::ffff:10.0.0.0/95", "10.0.0.0/ 8", "/8", "10.0.0.0/+8",
    ])
    func `what is no network is refused`(text: String) {
        #expect(IPNetwork(text) == nil)
    }
}
