import Foundation
import StrictJSON
import TestSupport

/// PyJWT, which signs and verifies tokens with code of its own.
enum PyJWT {
    /// A token with the key that is to judge it.
    struct Case {
        let name: String
        let algorithm: String
        /// The key as a JWK.
        let jwk: String
        let token: [UInt8]
    }

    /// Makes a key and a token for each algorithm.
    static func signed() throws -> [Case] {
        guard case .array(let items) = try run("sign", input: []) else { throw CocoaError(.coderReadCorrupt) }
        return try items.map { item in
            guard case .string(let algorithm)? = item["algorithm"], case .string(let jwk)? = item["jwk"],
                case .string(let token)? = item["token"]
            else { throw CocoaError(.coderReadCorrupt) }
            return Case(name: "as signed", algorithm: algorithm, jwk: jwk, token: Array(token.utf8))
        }
    }

    /// Whether each token is accepted under its key and for its algorithm alone.
    static func verdicts(on cases: [Case]) throws -> [Bool] {
        let input = cases.map { test in
            JSONValue.object([
                .init(name: "algorithm", value: .string(test.algorithm)),
                .init(name: "jwk", value: .string(test.jwk)),
                .init(name: "token", value: .string(Data(test.token).base64EncodedString())),
            ])
        }
        var writer = JSONWriter()
        writer.value(.array(input))
        guard case .array(let items) = try run("verify", input: writer.bytes) else {
            throw CocoaError(.coderReadCorrupt)
        }
        return items.map { $0 == .bool(true) }
    }

    private static func run(_ command: String, input: [UInt8]) throws -> JSONValue {
        try JSONReader.read(Array(Python.run(program, arguments: [command], input: input).utf8))
    }

    private static let program = """
        import base64, json, sys
        import jwt
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
        from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

        CURVES = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}
        CLAIMS = {"sub": "alice", "iss": "https://id.example", "exp": 1900000000}

        def sign(algorithm, rsa_key):
            if algorithm == "EdDSA":
                key, kind = ed25519.Ed25519PrivateKey.generate(), OKPAlgorithm
            elif algorithm in CURVES:
                key, kind = ec.generate_private_key(CURVES[algorithm]), ECAlgorithm
            else:
                key, kind = rsa_key, RSAAlgorithm
            token = jwt.encode(CLAIMS, key, algorithm=algorithm, headers={"kid": "k1"})
            jwk = {**kind.to_jwk(key.public_key(), as_dict=True), "kid": "k1"}
            return {"algorithm": algorithm, "jwk": json.dumps(jwk), "token": token}

        def verify(case):
            try:
                key = jwt.PyJWK(json.loads(case["jwk"]), algorithm=case["algorithm"])
                jwt.decode(base64.b64decode(case["token"]), key, algorithms=[case["algorithm"]],
                           options={"verify_exp": False, "enforce_minimum_key_length": True})
                return True
            except Exception:
                return False

        if sys.argv[1] == "sign":
            rsa_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
            names = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
            answer = [sign(name, rsa_key) for name in names]
        else:
            answer = [verify(case) for case in json.load(sys.stdin)]
        print(json.dumps(answer))
        """
}
