import GatewayCore
import HTTPServing
import HTTPTypes
import Bytes

/// Reads the credential in `Authorization: Bearer` (RFC 6750, section 2.1).
enum BearerToken {
    /// Reads the token; the request must have exactly one `Authorization: Bearer` field.
    ///
    /// - Parameters:
    ///   - headers: The fields of the request.
    ///   - mayBeBare: Whether the value may also be the token alone, without a scheme.
    /// - Throws: `unauthenticated` with the reason.
    static func token(in headers: HeaderFields, mayBeBare: Bool = false) throws(GatewayError) -> Secret<String> {
        guard let value = headers.onlyValue(of: .authorization) else {
            guard headers.contains(.authorization) else {
                throw .refused("Send 'Authorization: Bearer' with a token.")
            }
            throw .refused("There is more than one Authorization field.")
        }
        let bytes = value.span
        guard bytes.count > schemeByteCount, isBearer(bytes) else {
            if mayBeBare, bytes.count <= TokenAuthenticator.longestTokenBytes, isToken(bytes), !bytes.isEmpty {
                return Secret(String(decoding: value, as: UTF8.self))
            }
            throw .refused("The Authorization scheme must be Bearer.")
        }
        return try token(value.dropFirst(schemeByteCount))
    }

    /// Reads a token that stands alone.
    ///
    /// - Throws: `unauthenticated` with the reason.
    static func token(_ value: ArraySlice<UInt8>) throws(GatewayError) -> Secret<String> {
        guard value.count <= TokenAuthenticator.longestTokenBytes else { throw .refused("The token is too long.") }
        guard !value.isEmpty, isToken(value.span) else {
            throw .refused("The token contains characters that are not valid in a token.")
        }
        return Secret(String(decoding: value, as: UTF8.self))
    }

    /// Length of `Bearer` and the space after it, in bytes.
    private static let schemeByteCount = 7

    private static func isBearer(_ value: Span<UInt8>) -> Bool {
        value[0] | 0x20 == UInt8(ascii: "b") && value[1] | 0x20 == UInt8(ascii: "e")
            && value[2] | 0x20 == UInt8(ascii: "a") && value[3] | 0x20 == UInt8(ascii: "r")
            && value[4] | 0x20 == UInt8(ascii: "e") && value[5] | 0x20 == UInt8(ascii: "r")
            && value[6] == UInt8(ascii: " ")
    }

    /// Whether the bytes form a `b64token` (RFC 6750, section 2.1).
    static func isToken(_ bytes: Span<UInt8>) -> Bool {
        let marks = SIMD4(UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "="))
        // Most tokens contain only these bytes.
        if bytes.isAlphanumeric(or: marks) { return true }
        for index in bytes.indices where !tokenBytes.contains(bytes[index]) { return false }
        return true
    }

    private static let tokenBytes = ByteSet.unreserved.union("+/=")
}

extension GatewayError {
    /// The refusal of a request whose head holds no token that can be read.
    static func refused(_ reason: String) -> GatewayError {
        .unauthenticated(reason: reason, cause: Cause(.noCredential, reason))
    }
}
