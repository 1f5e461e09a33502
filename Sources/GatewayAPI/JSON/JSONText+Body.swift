import GatewayCore
import StrictJSON

extension JSONText {
    /// Parses a request body.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `body` where it is not exactly one JSON value.
    static func body(_ bytes: [UInt8]) throws(GatewayError) -> JSONText {
        guard !bytes.isEmpty else { throw .invalidArgument(field: "body", reason: "The request has no body.") }
        do throws(JSONError) {
            return try JSONText(reading: bytes)
        } catch {
            throw .invalidArgument(field: "body", reason: "\(error).")
        }
    }
}
