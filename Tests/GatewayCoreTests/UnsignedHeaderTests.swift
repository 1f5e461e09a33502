import GatewayCore
import Signing
import Testing

@Suite struct UnsignedHeaderTests {
    @Test func `a time of writing is told by its year`() {
        #expect(UnsignedHeader.writeTime.value.hasPrefix("2001-"))
        #expect(UnsignedHeader.isWriteTime("Mon, 01 Jan 2001 00:00:00 GMT"))
        for other in ["Fri, 01 Jan 2021 20:01:00 GMT", "2001-01-01T00:00:00Z", "", nil] as [String?] {
            #expect(!UnsignedHeader.isWriteTime(other), "\(other ?? "none")")
        }
    }

    @Test func `a guessed type is that of a page, whatever its character set`() {
        #expect(UnsignedHeader.isGuessedType("text/html") && UnsignedHeader.isGuessedType("text/html; charset=utf-8"))
        for other in ["application/octet-stream", "text/plain", "image/png", "", nil] as [String?] {
            #expect(!UnsignedHeader.isGuessedType(other), "\(other ?? "none")")
        }
    }
}
