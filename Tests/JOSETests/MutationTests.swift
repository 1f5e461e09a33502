import JOSE
import TestSupport
import Testing

/// Tokens that differ a little from one that was signed. The oracle: a token is accepted if it is, byte for byte, the
/// one that was signed.
///
/// 500 cases for each of the 11 algorithms, from the seed 15.
@Suite struct MutationTests {
    private static let cases = 500
    private static let seed: UInt64 = 15

    @Test(arguments: SignedToken.algorithms)
    func `a changed token is refused`(algorithm: String) throws {
        let (token, other) = (SignedToken(algorithm, subject: "alice"), SignedToken(algorithm, subject: "bob"))
        let keys = try #require(token.keySet)
        #expect(keys.accepts(token.text) && keys.accepts(other.text))
        var random = SeededGenerator(seed: Self.seed, stream: algorithm.utf8.reduce(0) { $0 &* 31 &+ Int($1) })
        for number in 0..<Self.cases {
            let mutant = Mutant(of: token, beside: other, using: &random)
            let isSigned = mutant.text == token.text || mutant.text == other.text
            #expect(
                keys.accepts(mutant.text) == isSigned,
                "case \(number), \(mutant.change): \(String(decoding: mutant.text, as: UTF8.self))")
        }
    }

    @Test(arguments: ["ES256", "ES384", "ES512"])
    func `numbers of an ECDSA signature lie between zero and the order, in two halves`(algorithm: String) throws {
        let token = SignedToken(algorithm, subject: "alice")
        let keys = try #require(token.keySet)
        for (name, signature) in ECDSAFlaws.signatures(token.signature, algorithm) {
            #expect(!keys.accepts(SignedToken.text(token.header, token.payload, signature)), "\(name)")
        }
    }

    @Test(arguments: SignedToken.algorithms)
    func `the name of another algorithm in the header is refused`(algorithm: String) throws {
        let token = SignedToken(algorithm, subject: "alice")
        let keys = try #require(token.keySet)
        for other in SignedToken.algorithms + ["none", "None", "", "HS384", "HS512"] where other != algorithm {
            let header = Array(#"{"alg":"\#(other)","kid":"k1"}"#.utf8)
            #expect(!keys.accepts(SignedToken.text(header, token.payload, token.signature)), "\(other)")
            #expect(!keys.accepts(SignedToken.text(header, token.payload, [])), "\(other), unsigned")
        }
    }
}

/// A token with one change.
private struct Mutant {
    /// What was changed, for the report.
    let change: String
    let text: [UInt8]

    init(of token: SignedToken, beside other: SignedToken, using random: inout SeededGenerator) {
        var text = token.text
        let place = Int.random(in: 0..<text.count, using: &random)
        let (header, payload, signature) = (token.header, token.payload, token.signature)
        func flipped(_ bytes: [UInt8], using random: inout SeededGenerator) -> [UInt8] {
            var bytes = bytes
            bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            return bytes
        }
        switch Int.random(in: 0..<16, using: &random) {
        case 0:
            change = "bit of the text"
            text = flipped(text, using: &random)
        case 1:
            change = "bit of the header"
            text = SignedToken.text(flipped(header, using: &random), payload, signature)
        case 2:
            change = "bit of the payload"
            text = SignedToken.text(header, flipped(payload, using: &random), signature)
        case 3, 4:
            change = "bit of the signature"
            text = SignedToken.text(header, payload, flipped(signature, using: &random))
        case 5:
            change = "cut"
            text = Array(text[..<place])
        case 6:
            change = "byte removed"
            text.remove(at: place)
        case 7:
            change = "byte inserted"
            text.insert(UInt8.random(in: 0...255, using: &random), at: place)
        case 8:
            change = "byte replaced"
            text[place] = UInt8.random(in: 0x20..<0x7F, using: &random)
        case 9:
            change = "parts of two tokens"
            let parts = [(header, other.payload, signature), (header, payload, other.signature)]
            let (header, payload, signature) = parts[Int.random(in: 0..<2, using: &random)]
            text = SignedToken.text(header, payload, signature)
        case 10:
            change = "parts in another order"
            let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            text = Array(parts.shuffled(using: &random).joined(separator: [UInt8(ascii: ".")]))
        case 11:
            change = "signature with further bytes"
            let extra = (0..<Int.random(in: 1...8, using: &random)).map { _ in UInt8.random(in: 0...1, using: &random) }
            text = SignedToken.text(
                header, payload, Bool.random(using: &random) ? signature + extra : extra + signature)
        case 12:
            change = "signature with fewer bytes"
            let count = Int.random(in: 0..<signature.count, using: &random)
            text = SignedToken.text(
                header, payload, Array(Bool.random(using: &random) ? signature.prefix(count) : signature.suffix(count)))
        case 13:
            change = "signature of constant bytes"
            let byte: UInt8 = Bool.random(using: &random) ? 0 : 0xFF
            text = SignedToken.text(header, payload, Array(repeating: byte, count: signature.count))
        case 14:
            change = "last character of a part"
            let ends = text.indices.filter { $0 + 1 == text.count || text[$0 + 1] == UInt8(ascii: ".") }
            let end = ends[Int.random(in: 0..<ends.count, using: &random)]
            text[end] = UInt8(ascii: Bool.random(using: &random) ? "A" : "_") ^ UInt8.random(in: 0...3, using: &random)
        default:
            change = "padding or white space"
            let extras = ["=", "==", "\n", " ", "\t", ".", "%3D", "\u{0}"]
            text.insert(contentsOf: Array(extras[Int.random(in: 0..<extras.count, using: &random)].utf8), at: place)
        }
        self.text = text
    }
}
