import LibCrypto
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
        let plain = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/".utf8)
        for byte in UInt8.min...UInt8.max {
            for place in 0..<count {
                // Neighbours of the ends of their ranges.
                for rest in "-9AZaz_~".utf8 {
                    var bytes = [UInt8](repeating: rest, count: count)
                    bytes[place] = byte
                    if isPlain(bytes) != plain.contains(byte) { Issue.record("\(bytes)") }
                }
            }
        }
        #expect(isPlain(Array(plain.prefix(count))) && isPlain(plain))
    }

    @Test func `threads that hash side by side, and end, do not disturb each other`() async {
        let message = Array("message".utf8)
        let expected = DigestAlgorithm.sha256.digest(of: message).hex
        let key = HMACKey(message, algorithm: .sha256)
        let code = key.authenticationCode(for: message).hex
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<32 {
                group.addTask {
                    (0..<200).allSatisfy { number in
                        _ = DigestAlgorithm.md5.digest(of: [UInt8](repeating: 1, count: number))
                        return DigestAlgorithm.sha256.digest(of: message).hex == expected
                            && key.authenticationCode(for: message).hex == code
                    }
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}
