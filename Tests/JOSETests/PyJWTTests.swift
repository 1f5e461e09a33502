import Bytes
import JOSE
import TestSupport
import Testing

/// PyJWT as a second opinion: what it signs is accepted, and what it refuses is refused.
@Suite(.python(with: "PyJWT"))
struct PyJWTTests {
    private func accepts(_ test: PyJWT.Case) throws -> Bool {
        let document = Array("{\"keys\":[\(test.jwk)]}".utf8)
        return try #require(KeySet(document: document, algorithms: [test.algorithm])).accepts(test.token)
    }

    @Test func `tokens that PyJWT signs are accepted, for every algorithm`() throws {
        let cases = try PyJWT.signed()
        #expect(Set(cases.map(\.algorithm)) == Set(PublicKeyAlgorithm.allCases.map(\.rawValue)))
        for test in cases { #expect(try accepts(test), "\(test.algorithm)") }
        #expect(try PyJWT.verdicts(on: cases).allSatisfy(\.self))
    }

    @Test func `tokens that are signed here are accepted by PyJWT`() throws {
        let cases = PublicKeyAlgorithm.allCases.map { algorithm in
            let key = TokenKey(algorithm.rawValue)
            return PyJWT.Case(name: "signed here", key: key, header: #"{"alg":"\#(key.algorithm)"}"#)
        }
        #expect(try PyJWT.verdicts(on: cases).allSatisfy(\.self))
        for test in cases { #expect(try accepts(test), "\(test.algorithm)") }
    }

    @Test func `flawed tokens are refused by both`() throws {
        var cases: [PyJWT.Case] = []
        for signed in try PyJWT.signed() {
            let parts = signed.token.split(separator: UInt8(ascii: ".")).map { Base64URL.decode($0) ?? [] }
            func add(_ name: String, _ token: [UInt8]) {
                cases.append(PyJWT.Case(name: name, algorithm: signed.algorithm, jwk: signed.jwk, token: token))
            }
            for part in parts.indices {
                for place in [0, parts[part].count / 2, parts[part].count - 1] {
                    var changed = parts
                    changed[part][place] ^= 4
                    add("bit of byte \(place) of part \(part)", SignedToken.text(changed[0], changed[1], changed[2]))
                }
            }
            for count in 1...8 { add("without \(count) characters", signed.token.dropLast(4 * count)) }
            add("no signature", SignedToken.text(parts[0], parts[1], []))
            for extra: [UInt8] in [[0], [1], [0, 0, 0]] {
                add("bytes after", SignedToken.text(parts[0], parts[1], parts[2] + extra))
                add("bytes before", SignedToken.text(parts[0], parts[1], extra + parts[2]))
            }
            if TokenKey.numberByteCount(signed.algorithm) != nil {
                for (name, signature) in ECDSAFlaws.signatures(parts[2], signed.algorithm) {
                    add(name, SignedToken.text(parts[0], parts[1], signature))
                }
            }
            for other in SignedToken.algorithms + ["none", "None"] where other != signed.algorithm {
                let header = Array(#"{"alg":"\#(other)","kid":"k1","typ":"JWT"}"#.utf8)
                add("named \(other)", SignedToken.text(header, parts[1], parts[2]))
            }
        }
        let verdicts = try PyJWT.verdicts(on: cases)
        #expect(verdicts.count == cases.count)
        for (test, verdict) in zip(cases, verdicts) {
            #expect(!verdict, "PyJWT: \(test.algorithm), \(test.name)")
            #expect(try !accepts(test), "\(test.algorithm), \(test.name)")
        }
    }

    /// Right signatures under keys that are refused. PyJWT refuses those that its arithmetic cannot use, and RSA keys
    /// that are short.
    @Test func `unsuitable keys are refused by both`() throws {
        var cases = [
            PyJWT.Case(name: "1024 bits", key: TokenKey("RS256", rsaBits: 1024, exponent: 65537)),
            PyJWT.Case(name: "2040 bits", key: TokenKey("PS256", rsaBits: 2040, exponent: 65537)),
        ]
        for (algorithm, other) in [("ES256", "ES384"), ("ES384", "ES512"), ("EdDSA", "ES256"), ("RS256", "EdDSA")] {
            // A token of one key, judged by a key of another type under the token's algorithm.
            let (token, key) = (PyJWT.Case(name: "", key: TokenKey(algorithm)).token, TokenKey(other))
            cases.append(
                PyJWT.Case(name: "key for \(other)", algorithm: algorithm, jwk: "{\(key.members)}", token: token))
        }
        for algorithm in ["ES256", "ES384", "ES512"] {
            let test = PyJWT.Case(name: "", key: TokenKey(algorithm))
            // The coordinates exchanged: a point beside the curve.
            let jwk = test.jwk.replacing(#""x":"#, with: #""z":"#).replacing(#""y":"#, with: #""x":"#)
                .replacing(#""z":"#, with: #""y":"#)
            cases.append(PyJWT.Case(name: "beside the curve", algorithm: algorithm, jwk: jwk, token: test.token))
        }
        for (test, verdict) in zip(cases, try PyJWT.verdicts(on: cases)) {
            #expect(!verdict, "PyJWT: \(test.algorithm), \(test.name)")
            #expect(try !accepts(test), "\(test.algorithm), \(test.name)")
        }
    }

    @Test func `an RSA key with an exponent of 3 serves both`() throws {
        let test = PyJWT.Case(name: "exponent 3", key: TokenKey("RS256", rsaBits: 2048, exponent: 3))
        #expect(try PyJWT.verdicts(on: [test]) == [true])
        #expect(try accepts(test))
    }

    /// Here this project is stricter: other spellings of the same bytes, exponents of more than 32 bits, and members of
    /// a key that forbid its use.
    @Test func `what PyJWT leaves open is refused`() throws {
        let key = TokenKey("RS256")
        let right = PyJWT.Case(name: "right", key: key)
        var cases = [
            PyJWT.Case(
                name: "exponent of 33 bits", key: TokenKey("RS256", rsaBits: 2048, exponent: 0x1_0000_000F)),
            PyJWT.Case(name: "padding", algorithm: "RS256", jwk: right.jwk, token: right.token + [UInt8(ascii: "=")]),
            PyJWT.Case(name: "line", algorithm: "RS256", jwk: right.jwk, token: right.token + [UInt8(ascii: "\n")]),
            PyJWT.Case(
                name: "another key type with the same numbers", algorithm: "RS256",
                jwk: right.jwk.replacing("}", with: #","use":"enc"}"#), token: right.token),
            PyJWT.Case(name: "two algorithms", key: key, header: #"{"alg":"none","alg":"RS256"}"#),
            PyJWT.Case(name: "extension", key: key, header: #"{"alg":"RS256","crit":["exp"],"exp":1}"#),
        ]
        var twin = right.token
        twin[twin.count - 1] ^= 1
        cases.append(PyJWT.Case(name: "last character", algorithm: "RS256", jwk: right.jwk, token: twin))
        #expect(try accepts(right))
        for test in cases { #expect(try !accepts(test), "\(test.name)") }
    }
}

extension PyJWT.Case {
    /// A token that a key signs.
    fileprivate init(name: String, key: TokenKey, header: String? = nil) {
        let header = header ?? #"{"alg":"\#(key.algorithm)"}"#
        let parts = [header, #"{"sub":"alice","exp":1900000000}"#].map { TokenKey.base64URL($0.utf8) }
        let signed = Array(parts.joined(separator: ".").utf8)
        let signature = TokenKey.base64URL(key.signature(of: signed))
        self.init(
            name: name, algorithm: key.algorithm, jwk: "{\(key.members)}",
            token: signed + [UInt8(ascii: ".")] + Array(signature.utf8))
    }
}
