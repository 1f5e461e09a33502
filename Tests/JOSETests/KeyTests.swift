import JOSE
import Bytes
import StrictJSON
import TestSupport
import Testing

/// Which keys are taken, and for which algorithms.
@Suite struct KeyTests {
    private func key(_ jwk: String, _ algorithm: String) throws -> VerificationKey? {
        guard let algorithm = PublicKeyAlgorithm(named: algorithm) else { return nil }
        return VerificationKey(jwk: try JSONReader.read(Array(jwk.utf8)), algorithm: algorithm)
    }

    private func rsa(modulus: String = PublishedKeys.rsaModulus, exponent: String = "AQAB") -> String {
        #"{"kty":"RSA","n":"\#(modulus)","e":"\#(exponent)"}"#
    }

    private func number(_ count: Int, first: UInt8 = 0xFF, last: UInt8 = 0xFF) -> String {
        TokenKey.base64URL([first] + Array(repeating: 0xFF, count: count - 2) + [last])
    }

    @Test func `a key serves its own kind alone`() throws {
        let kinds = [
            "RS256": "RSA", "RS384": "RSA", "RS512": "RSA", "PS256": "RSA", "PS384": "RSA", "PS512": "RSA",
            "ES256": "P-256", "ES384": "P-384", "ES512": "P-521", "EdDSA": "OKP",
        ]
        let fitting = [
            "RSA": PublishedKeys.rsa, "P-256": PublishedKeys.ec, "P-384": "{\(TokenKey("ES384").members)}",
            "P-521": PublishedKeys.ec521, "OKP": PublishedKeys.ed25519,
        ]
        #expect(Set(kinds.keys) == Set(PublicKeyAlgorithm.allCases.map(\.rawValue)))
        for (algorithm, kind) in kinds {
            for (other, jwk) in fitting {
                #expect(try (key(jwk, algorithm) != nil) == (kind == other), "\(algorithm) \(other)")
            }
        }
    }

    @Test(arguments: ["HS256", "HS384", "none", "None", "", "es256", "ES256 ", "ES256K", "RSA1_5", "Ed25519"])
    func `other names are no algorithms of public keys`(name: String) {
        #expect(PublicKeyAlgorithm(named: name) == nil)
    }

    @Test(arguments: [
        (#","use":"enc""#, false), (#","use":"sig""#, true), (#","use":null"#, false), (#","use":"SIG""#, false),
        (#","alg":"ES384""#, false), (#","alg":"ES256""#, true), (#","alg":null"#, false), (#","alg":7"#, false),
        (#","key_ops":["verify"]"#, true), (#","key_ops":["sign"]"#, false), (#","key_ops":["sign","verify"]"#, true),
        (#","key_ops":[]"#, false), (#","key_ops":[7]"#, false), (#","key_ops":null"#, false), (#","kid":7"#, false),
        (#","kid":null"#, false), (#","kid":"""#, true), (#","x5c":["%"],"other":{}"#, true),
    ])
    func `a key is used as its owner means it`(members: String, isUsable: Bool) throws {
        let jwk = "{" + TokenKey("ES256").members + members + "}"
        #expect(try (key(jwk, "ES256") != nil) == isUsable)
    }

    @Test(arguments: [
        (2047, false), (2048, true), (2049, true), (4096, true), (8192, true), (8193, false), (1024, false),
        (16, false),
    ])
    func `an RSA modulus has 2048 to 8192 bits`(bits: Int, isUsable: Bool) throws {
        let first = UInt8(truncatingIfNeeded: 0x80 >> ((8 - bits % 8) % 8))
        let modulus = number((bits + 7) / 8, first: first)
        for algorithm in ["RS256", "PS512"] {
            #expect(try (key(rsa(modulus: modulus), algorithm) != nil) == isUsable, "\(algorithm)")
        }
        // Zeros in front do not make a number longer, and some issuers write one.
        let padded = TokenKey.base64URL([0] + (Base64URL.decode(modulus.utf8) ?? []))
        #expect(try (key(rsa(modulus: padded), "RS256") != nil) == isUsable)
    }

    @Test func `the numbers of an RSA key are odd, and its exponent is small`() throws {
        #expect(try key(rsa(modulus: number(256, last: 0xFE)), "RS256") == nil)
        let exponents: [([UInt8], Bool)] = [
            ([], false), ([0], false), ([1], false), ([2], false), ([3], true), ([4], false), ([1, 0, 1], true),
            ([1, 0, 0], false), ([0, 1, 0, 1], true), ([0xFF, 0xFF, 0xFF, 0xFF], true),
            ([1, 0, 0, 0, 1], false), (Array(repeating: 0xFF, count: 256), false),
        ]
        for (exponent, isUsable) in exponents {
            #expect(
                try (key(rsa(exponent: TokenKey.base64URL(exponent)), "RS256") != nil) == isUsable, "\(exponent)")
        }
    }

    @Test(arguments: ["ES256", "ES384", "ES512"])
    func `a point lies on its curve and has coordinates of its length`(algorithm: String) throws {
        let length = try #require(TokenKey.numberByteCount(algorithm))
        let curve = "P-\(length == 66 ? 521 : length * 8)"
        func jwk(_ x: [UInt8], _ y: [UInt8]) -> String {
            let (x, y) = (TokenKey.base64URL(x), TokenKey.base64URL(y))
            return #"{"kty":"EC","crv":"\#(curve)","x":"\#(x)","y":"\#(y)"}"#
        }
        let members = try JSONReader.read(Array("{\(TokenKey(algorithm).members)}".utf8))
        guard case .string(let xText)? = members["x"], case .string(let yText)? = members["y"] else {
            Issue.record("no coordinates")
            return
        }
        let (x, y) = (try #require(Base64URL.decode(xText.utf8)), try #require(Base64URL.decode(yText.utf8)))
        #expect(try key(jwk(x, y), algorithm) != nil)
        var beside = y
        beside[length - 1] ^= 1
        let zeros = [UInt8](repeating: 0, count: length)
        let flawed: [([UInt8], [UInt8])] = [
            (x, beside), (zeros, zeros), (y, x), (x, zeros), (x, Array(repeating: 0xFF, count: length)),
            // A byte more or less, and one that moved from one coordinate to the other.
            (x, [0] + y), ([0] + x, y), (Array(x.dropLast()), y), (x, Array(y.dropFirst())),
            (Array(x.dropLast()), x.suffix(1) + y), (x + y.prefix(1), Array(y.dropFirst())), ([], x + y), (x, []),
        ]
        for (x, y) in flawed { #expect(try key(jwk(x, y), algorithm) == nil, "\(x) \(y)") }
    }

    @Test func `a point at another curve's name is none`() throws {
        let jwk = "{" + TokenKey("ES256").members.replacing("P-256", with: "P-384") + "}"
        for algorithm in ["ES256", "ES384"] { #expect(try key(jwk, algorithm) == nil) }
    }

    @Test func `malformed keys are none`() throws {
        let zeros = TokenKey.base64URL([UInt8](repeating: 0, count: 32))
        for text in [
            "[]", "{}", "7", "null", #"{"kty":7}"#, #"{"kty":"EC"}"#, #"{"kty":"EC","crv":"P-256","x":"%","y":"%"}"#,
            #"{"kty":"EC","crv":"P-256","x":7,"y":7}"#, #"{"kty":"OKP","crv":"X25519","x":"\#(zeros)"}"#,
            #"{"kty":"OKP","crv":"Ed448","x":"\#(zeros)"}"#, #"{"kty":"OKP","crv":"Ed25519","x":"\#(zeros)AA"}"#,
            #"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#, #"{"kty":"oct","k":"\#(zeros)"}"#, rsa(modulus: ""),
            rsa(modulus: PublishedKeys.rsaModulus + "="), rsa(modulus: PublishedKeys.rsaModulus + "\\n"),
            rsa(exponent: "AQAB="), rsa(exponent: ""),
            #"{"kty":"EC","crv":7,"x":"\#(zeros)","y":"\#(zeros)"}"#,
        ] {
            for algorithm in PublicKeyAlgorithm.allCases {
                #expect(
                    VerificationKey(jwk: try JSONReader.read(Array(text.utf8)), algorithm: algorithm) == nil, "\(text)")
            }
        }
    }

    @Test func `a shared secret is as long as its digest`() {
        #expect(VerificationKey(secret: Array(repeating: 7, count: 31)) == nil)
        #expect(VerificationKey(secret: Array(repeating: 7, count: 32))?.algorithm == "HS256")
    }

    @Test func `a set holds only keys that verify, and no secrets`() throws {
        let secret = TokenKey.base64URL([UInt8](repeating: 7, count: 32))
        let names = PublicKeyAlgorithm.allCases.map(\.rawValue) + ["HS256", "none"]
        let others = [
            #"{"kty":"oct","k":"\#(secret)","alg":"HS256"}"#, "7", "null", "{}",
            PublishedKeys.ec.replacing("}", with: #","use":"enc"}"#),
        ]
        let useless = try #require(
            KeySet(document: Array("{\"keys\":[\(others.joined(separator: ","))]}".utf8), algorithms: names))
        #expect(useless.isEmpty)
        let all = (others + [PublishedKeys.ec]).joined(separator: ",")
        let set = try #require(KeySet(document: Array(#"{"other":1,"keys":[\#(all)]}"#.utf8), algorithms: names))
        let token = try #require(CompactToken(Array(PublishedKeys.es256Token.utf8)))
        #expect(set.keys(for: token).map(\.algorithm) == ["ES256"])
        let rsa = try #require(CompactToken(Array(PublishedKeys.rs256Token.utf8)))
        #expect(set.keys(for: rsa).isEmpty)
        let narrow = try #require(KeySet(document: Array(#"{"keys":[\#(all)]}"#.utf8), algorithms: ["RS256"]))
        #expect(narrow.isEmpty)
    }
}
