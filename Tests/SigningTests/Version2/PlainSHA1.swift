/// SHA-1 and HMAC, written from FIPS 180-4 and RFC 2104. They share no code with what they judge.
enum PlainSHA1 {
    static func hash(_ message: [UInt8]) -> [UInt8] {
        var padded = message + [0x80]
        while padded.count % 64 != 56 { padded.append(0) }
        for shift in stride(from: 56, through: 0, by: -8) {
            padded.append(UInt8(truncatingIfNeeded: (message.count * 8) >> shift))
        }
        var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0]
        for start in stride(from: 0, to: padded.count, by: 64) { compress(padded, at: start, into: &state) }
        return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> UInt32(24 - 8 * $0)) } }
    }

    private static func compress(_ bytes: [UInt8], at start: Int, into state: inout [UInt32]) {
        func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
        var words: [UInt32] = []
        for index in 0..<16 {
            var word: UInt32 = 0
            for offset in 0..<4 { word = word << 8 | UInt32(bytes[start + index * 4 + offset]) }
            words.append(word)
        }
        for index in 16..<80 {
            words.append(rotate(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1))
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for index in 0..<80 {
            let mixed: UInt32
            switch index / 20 {
            case 0: mixed = (b & c | ~b & d) &+ 0x5a82_7999
            case 1: mixed = (b ^ c ^ d) &+ 0x6ed9_eba1
            case 2: mixed = (b & c | b & d | c & d) &+ 0x8f1b_bcdc
            default: mixed = (b ^ c ^ d) &+ 0xca62_c1d6
            }
            (e, d, c, b, a) = (d, c, rotate(b, 30), a, rotate(a, 5) &+ mixed &+ e &+ words[index])
        }
        for (index, word) in [a, b, c, d, e].enumerated() { state[index] = state[index] &+ word }
    }

    static func authenticationCode(key: [UInt8], message: [UInt8]) -> [UInt8] {
        let short = key.count > 64 ? hash(key) : key
        let block = short + [UInt8](repeating: 0, count: 64 - short.count)
        return hash(block.map { $0 ^ 0x5c } + hash(block.map { $0 ^ 0x36 } + message))
    }
}
