import Bytes
import Testing

@Suite struct ByteTests {
    @Test func `bytes are written behind each other, over others, and taken away in front`() {
        let text = String(room: 20) { output in
            output.append(copying: "ab")
            output.append(copying: Array("cdé".utf8))
            output.append(copying: "".utf8Span.span)
            output.append(copying: String(repeating: "x", count: 10))
            output.overwrite(from: 1, with: "BC".utf8Span.span)
            output.overwrite(from: 16, with: "".utf8Span.span)
            output.removeFirst(1)
        }
        #expect(text == "BCdéxxxxxxxxxx")
        #expect(String(room: 0) { _ in } == "")
    }

    @Test func `nothing is written where there is no room`() async {
        await #expect(processExitsWith: .failure) {
            _ = String(room: 3) { $0.append(copying: "four") }
            var bytes: [UInt8] = []
            bytes.append(addingCapacity: 3) { $0.append(copying: Array("a longer text than there is room for".utf8)) }
        }
        await #expect(processExitsWith: .failure) {
            var bytes: [UInt8] = []
            bytes.append(addingCapacity: 8) { output in
                output.append(copying: "ab")
                output.overwrite(from: 1, with: [1, 2].span)
            }
        }
        await #expect(processExitsWith: .failure) {
            var bytes: [UInt8] = []
            bytes.append(addingCapacity: 3) { Hex.append([1, 2].span, to: &$0) }
        }
    }

    @Test(arguments: [0, 1, 15, 16, 17, 31, 32, 33, 100])
    func `digits of any number of bytes`(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 5) }
        let digits = Array("0123456789abcdef".utf8)
        let plain = bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        #expect(Array(Hex.encode(bytes).utf8) == plain)
    }

    @Test func `texts are the same only byte for byte`() {
        let texts = ["", "a", "é", "e\u{301}", "K", "\u{212A}", "ab", String(repeating: "z", count: 40), "a\0"]
        for left in texts {
            for right in texts {
                #expect(left.isSameBytes(as: right) == left.utf8.elementsEqual(right.utf8))
                #expect(left.precedesInBytes(right) == left.utf8.lexicographicallyPrecedes(right.utf8))
            }
            #expect(left.isSameBytes(as: String(Array(left))))
            for ascii in texts where ascii.utf8.allSatisfy({ $0 < 0x80 }) {
                #expect(left.isSame(asASCII: ascii) == left.utf8.elementsEqual(ascii.utf8))
            }
        }
    }

    @Test(arguments: 0...40) func `the lowest byte counts wherever it is`(count: Int) {
        func isAbove(_ limit: UInt8, _ bytes: [UInt8]) -> Bool { bytes.span.isAbove(limit) }
        #expect(isAbove(0x20, [UInt8](repeating: 0x21, count: count)))
        for place in 0..<count {
            var bytes = [UInt8](repeating: 0xFF, count: count)
            bytes[place] = 0x20
            #expect(!isAbove(0x20, bytes) && isAbove(0x1F, bytes))
        }
    }

    @Test(arguments: 0...25) func `a path is plain only if every byte of it is`(count: Int) {
        func isPlain(_ bytes: [UInt8]) -> Bool { bytes.span.isPlainPath }
        let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/".utf8)
        // Neighbours of the ends of their ranges.
        for rest in "-9AZaz_~".utf8 {
            var bytes = [UInt8](repeating: rest, count: count)
            #expect(isPlain(bytes))
            for place in 0..<count {
                for byte in UInt8.min...UInt8.max {
                    bytes[place] = byte
                    if isPlain(bytes) != plain.contains(byte) { Issue.record("\(bytes)") }
                }
                bytes[place] = rest
            }
        }
    }

    private static let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

    private static let sets: [(ByteSet, String)] = [
        (.digits, "0123456789"), (.lowerHexDigits, "0123456789abcdef"), (.alphanumeric, letters + "0123456789"),
        (.lowerAlphanumeric, "abcdefghijklmnopqrstuvwxyz0123456789"),
        (.visible, letters + "0123456789!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
        (.printable, letters + "0123456789 !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
        (.token, letters + "0123456789!#$%&'*+-.^_`|~"), (.unreserved, letters + "0123456789-._~"),
        (.unreservedAndSlash, letters + "0123456789-._~/"),
        (.path, letters + "0123456789-._~!$&'()*+,;=:@/%"), (.digits.union("az"), "0123456789az"), (ByteSet(""), ""),
    ]

    @Test(arguments: sets)
    func `a set has its characters and no others`(set: ByteSet, characters: String) {
        for byte in UInt8.min...UInt8.max {
            #expect(set.contains(byte) == characters.utf8.contains(byte), "\(byte)")
        }
    }

    @Test func `a text consists of a set by its bytes and their number`() {
        #expect("2026".consists(of: .digits, count: 4...4) && "".consists(of: .digits, count: 0...1))
        #expect(!"2026".consists(of: .digits, count: 1...3) && !"20é".consists(of: .digits, count: 1...9))
        #expect("x/2026".dropFirst(2).consists(of: .digits, count: 1...9))
    }

    @Test func `only the letters of ASCII have a lower case`() {
        for byte in UInt8.min...UInt8.max {
            #expect(byte.lowercased == (65...90 ~= byte ? byte + 32 : byte))
        }
    }
}
