import CLibCrypto

/// A private key that signs tokens (RFC 7518 and RFC 8037), and its public part as a JWK.
///
/// - Invariant: Nobody changes the key after `init`. libcrypto counts its references atomically.
@safe public final class TokenKey: @unchecked Sendable {
    /// The name of the algorithm, for example `ES256`.
    public let algorithm: String
    /// The public key's own members of a JWK: `kty` and those of its type, without braces.
    public let members: String
    private let key: OpaquePointer

    /// Makes a new key for an algorithm or, for RSA, takes a key of 2,048 bits that is always the same.
    public convenience init(_ algorithm: String) {
        switch algorithm {
        case "ES256", "ES384", "ES512", "EdDSA": unsafe self.init(algorithm, owning: Self.newKey(algorithm))
        default: unsafe self.init(algorithm, owning: Self.rsaKey())
        }
    }

    /// Makes a new RSA key of another size, for an algorithm of RSA.
    public convenience init(_ algorithm: String, rsaBits bits: Int32, exponent: UInt) {
        let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        let number = unsafe BN_new()
        defer { unsafe BN_free(number) }
        unsafe mustSucceed(BN_set_word(number, UInt(exponent)))
        unsafe mustSucceed(EVP_PKEY_keygen_init(context))
        unsafe mustSucceed(EVP_PKEY_CTX_set_rsa_keygen_bits(context, bits))
        unsafe mustSucceed(EVP_PKEY_CTX_set1_rsa_keygen_pubexp(context, number))
        unsafe self.init(algorithm, owning: Self.generated(in: context))
    }

    private init(_ algorithm: String, owning key: OpaquePointer) {
        self.algorithm = algorithm
        unsafe self.key = key
        members = unsafe Self.members(of: key, algorithm)
    }

    deinit {
        unsafe EVP_PKEY_free(key)
    }

    /// The signature of a message, in the form of JSON Web Signatures.
    public func signature(of message: [UInt8]) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("Out of memory") }
        defer { unsafe EVP_MD_CTX_free(context) }
        var parameters: OpaquePointer?
        unsafe mustSucceed(EVP_DigestSignInit(context, &parameters, Self.hash(algorithm), nil, key))
        if algorithm.hasPrefix("PS") {
            unsafe mustSucceed(EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING))
            unsafe mustSucceed(EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST))
        }
        var signature = [UInt8](repeating: 0, count: 1024)
        var count = signature.count
        unsafe mustSucceed(EVP_DigestSign(context, &signature, &count, message, message.count))
        signature.removeLast(signature.count - count)
        return Self.numberByteCount(algorithm).map { Self.pair(signature, byteCount: $0) } ?? signature
    }

    /// The signature of a message as libcrypto writes that of ECDSA: in DER.
    public static func der(_ pair: [UInt8]) -> [UInt8] {
        func number(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            var digits = Array(bytes.drop { $0 == 0 })
            if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
            return [2, UInt8(digits.count)] + digits
        }
        let content = number(pair[..<(pair.count / 2)]) + number(pair[(pair.count / 2)...])
        return (content.count < 0x80 ? [0x30, UInt8(content.count)] : [0x30, 0x81, UInt8(content.count)]) + content
    }

    /// Encodes base64 with the URL alphabet and without padding.
    public static func base64URL(_ bytes: some Sequence<UInt8>) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        var text = ""
        var (bits, count) = (0, 0)
        for byte in bytes {
            (bits, count) = (bits << 8 | Int(byte), count + 8)
            while count >= 6 {
                count -= 6
                text.append(alphabet[bits >> count & 0x3F])
            }
            bits &= 0xFF
        }
        if count > 0 { text.append(alphabet[bits << (6 - count) & 0x3F]) }
        return text
    }

    /// Length of each number of an ECDSA signature in bytes; `nil` for other algorithms.
    public static func numberByteCount(_ algorithm: String) -> Int? {
        ["ES256": 32, "ES384": 48, "ES512": 66][algorithm]
    }

    /// Reads the two numbers of a signature in DER.
    private static func pair(_ der: [UInt8], byteCount: Int) -> [UInt8] {
        var rest = der.dropFirst(der[1] == 0x81 ? 3 : 2)
        var pair: [UInt8] = []
        for _ in 0..<2 {
            let length = Int(rest[rest.startIndex + 1])
            let digits = rest.dropFirst(2).prefix(length).drop { $0 == 0 }
            pair += Array(repeating: 0, count: byteCount - digits.count) + digits
            rest = rest.dropFirst(2 + length)
        }
        return pair
    }

    private static func newKey(_ algorithm: String) -> OpaquePointer {
        let curve = ["ES256": "P-256", "ES384": "P-384", "ES512": "P-521"][algorithm]
        let context = unsafe EVP_PKEY_CTX_new_from_name(nil, curve == nil ? "ED25519" : "EC", nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        unsafe mustSucceed(EVP_PKEY_keygen_init(context))
        if let curve { unsafe mustSucceed(EVP_PKEY_CTX_set_group_name(context, curve)) }
        return unsafe generated(in: context)
    }

    private static func generated(in context: OpaquePointer?) -> OpaquePointer {
        var key: OpaquePointer?
        unsafe mustSucceed(EVP_PKEY_generate(context, &key))
        guard let key = unsafe key else { preconditionFailure("libcrypto made no key") }
        return unsafe key
    }

    private static func rsaKey() -> OpaquePointer {
        let key = unsafe Array(TestKey.pem.utf8).withUnsafeBufferPointer { pem -> OpaquePointer? in
            let source = unsafe BIO_new_mem_buf(pem.baseAddress, Int32(pem.count))
            defer { unsafe BIO_free(source) }
            return unsafe PEM_read_bio_PrivateKey(source, nil, nil, nil)
        }
        guard let key = unsafe key else { preconditionFailure("The key of the tests cannot be read") }
        return unsafe key
    }

    private static func members(of key: OpaquePointer, _ algorithm: String) -> String {
        if let byteCount = numberByteCount(algorithm) {
            // A point is a byte 4 and two coordinates.
            let point = unsafe octets("pub", of: key)
            let (x, y) = (point[1...byteCount], point[(1 + byteCount)...])
            let curve = "P-\(byteCount == 66 ? 521 : byteCount * 8)"
            return #""kty":"EC","crv":"\#(curve)","x":"\#(base64URL(x))","y":"\#(base64URL(y))""#
        }
        if algorithm == "EdDSA" {
            return unsafe #""kty":"OKP","crv":"Ed25519","x":"\#(base64URL(octets("pub", of: key)))""#
        }
        return unsafe #""kty":"RSA","n":"\#(number("n", of: key))","e":"\#(number("e", of: key))""#
    }

    private static func octets(_ name: String, of key: OpaquePointer) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 256)
        var count = 0
        unsafe mustSucceed(EVP_PKEY_get_octet_string_param(key, name, &bytes, bytes.count, &count))
        return Array(bytes.prefix(count))
    }

    private static func number(_ name: String, of key: OpaquePointer) -> String {
        var number: OpaquePointer?
        unsafe mustSucceed(EVP_PKEY_get_bn_param(key, name, &number))
        defer { unsafe BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: 2048)
        let count = unsafe BN_bn2bin(number, &bytes)
        return base64URL(bytes.prefix(Int(count)))
    }

    private static func hash(_ algorithm: String) -> OpaquePointer? {
        switch algorithm.suffix(3) {
        case "256": unsafe EVP_sha256()
        case "384": unsafe EVP_sha384()
        case "512": unsafe EVP_sha512()
        default: nil
        }
    }
}

/// Stops the tests if a call fails.
private func mustSucceed(_ status: Int32, line: UInt = #line) {
    precondition(status > 0, "libcrypto failed in line \(line)")
}
