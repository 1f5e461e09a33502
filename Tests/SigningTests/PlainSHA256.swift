/// SHA-256 and HMAC, written from FIPS 180-4 and RFC 2104. They share no code with what they judge.
enum PlainSHA256 {
    private static let roundConstants: [UInt32] = {
        // The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
        var primes: [Int] = []
        var candidate = 2
        while primes.count < 64 {
            if primes.allSatisfy({ !candidate.isMultiple(of: $0) }) { primes.append(candidate) }
            candidate += 1
        }
        return primes.map { prime in
            let root = cubeRoot(Double(prime))
            return UInt32((root - root.rounded(.down)) * 4_294_967_296)
        }
    }()

    private static func cubeRoot(_ value: Double) -> Double {
        var root = value / 2
        for _ in 0..<100 { root -= (root * root * root - value) / (3 * root * root) }
        return root
    }

    static func hash(_ message: [UInt8]) -> [UInt8] {
        var padded = message + [0x80]
        while padded.count % 64 != 56 { padded.append(0) }
        for shift in stride(from: 56, through: 0, by: -8) {
            padded.append(UInt8(truncatingIfNeeded: (message.count * 8) >> shift))
        }
        var state: [UInt32] = [
            0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
        ]
        for start in stride(from: 0, to: padded.count, by: 64) { compress(padded, at: start, into: &state) }
        return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> UInt32(24 - 8 * $0)) } }
    }

    private static func compress(_ bytes: [UInt8], at start: Int, into state: inout [UInt32]) {
        func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }
        var words: [UInt32] = []
        for index in 0..<16 {
            var word: UInt32 = 0
            for offset in 0..<4 { word = word << 8 | UInt32(bytes[start + index * 4 + offset]) }
            words.append(word)
        }
        for index in 16..<64 {
            let first = words[index - 15]
            let second = words[index - 2]
            let small = rotate(first, 7) ^ rotate(first, 18) ^ first >> 3
            let large = rotate(second, 17) ^ rotate(second, 19) ^ second >> 10
            words.append(words[index - 16] &+ small &+ words[index - 7] &+ large)
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        for index in 0..<64 {
            let upper = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
            let choice = (e & f) ^ (~e & g)
            let first = h &+ upper &+ choice &+ roundConstants[index] &+ words[index]
            let lower = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
            let majority = (a & b) ^ (a & c) ^ (b & c)
            (h, g, f, e) = (g, f, e, d &+ first)
            (d, c, b, a) = (c, b, a, first &+ lower &+ majority)
        }
        for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] = state[index] &+ word }
    }

    static func authenticationCode(key: [UInt8], message: [UInt8]) -> [UInt8] {
        let short = key.count > 64 ? hash(key) : key
        let block = short + [UInt8](repeating: 0, count: 64 - short.count)
        return hash(block.map { $0 ^ 0x5c } + hash(block.map { $0 ^ 0x36 } + message))
    }
}
