import Foundation
import GatewayCore
import Testing

@Suite struct TextFormTests {
    @Test func `the text is Foundation's in lower case`() {
        for _ in 0..<100 {
            let id = UUID()
            #expect(id.lowercaseText == id.uuidString.lowercased())
        }
    }

    @Test(arguments: ["192.0.2.1", "0.0.0.0", "255.255.255.255", "2001:db8::1", "::ffff:192.0.2.1"])
    func `a string and a part of one are read as the same address`(text: String) {
        let address = IPAddress(text)
        #expect(address != nil)
        #expect(address == IPAddress(("<" + text + ">").dropFirst().dropLast()))
    }

    @Test(arguments: ["", ".", "1.2.3", "1.2.3.", ".1.2.3", "1..2.3", "1.2.3.4.", "1.2.3.04", "00.1.2.3", "1.2.3.1000"])
    func `what is no address of version 4 is none`(text: String) {
        #expect(IPAddress(text) == nil)
    }
}
