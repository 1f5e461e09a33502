import GatewayCore
import HTTPServing
import HTTPTypes
import Bytes

/// Reads the credential of clients that send a user name and a password (RFC 7617): the password is the token, and the
/// name says nothing.
enum BasicToken {
    /// Reads the token from the one `Authorization` field of the request, which is `Basic` or `Bearer`.
    ///
    /// - Throws: `unauthenticated` with the reason.
    static func token(in headers: HeaderFields) throws(GatewayError) -> Secret<String> {
        guard let value = headers.onlyValue(of: .authorization), isBasic(value) else {
            return try BearerToken.token(in: headers)
        }
        let encoded = value.dropFirst(scheme.utf8.count)
        guard encoded.count <= longestBytes else { throw .refused("The password is too long.") }
        guard let text = Base64.decode(String(decoding: encoded, as: UTF8.self)),
            let colon = text.firstIndex(of: UInt8(ascii: ":"))
        else { throw .refused("The Basic credentials must be base64 of a name, a colon and a password.") }
        return try BearerToken.token(text[(colon + 1)...])
    }

    private static let scheme = "basic "
    /// Base64 of the longest token, and of a name as long.
    private static let longestBytes = TokenAuthenticator.longestTokenBytes * 8 / 3

    private static func isBasic(_ value: some Collection<UInt8>) -> Bool {
        String(decoding: value.prefix(scheme.utf8.count), as: UTF8.self).lowercased() == scheme
    }
}
