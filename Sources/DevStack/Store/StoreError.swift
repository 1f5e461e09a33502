import HTTPTypes

/// A refusal of the embedded store, in S3's terms.
///
/// - SeeAlso: Amazon S3 API Reference, "Error responses".
struct StoreError: Error, Sendable, Equatable {
    let status: HTTPResponse.Status
    /// S3's error code, such as `NoSuchKey`.
    let code: String
    let message: String
    /// Additional XML elements that only some codes have, each a name and a text.
    var details: [[String]] = []

    static func accessDenied(_ message: String, details: [[String]] = []) -> StoreError {
        StoreError(status: .forbidden, code: "AccessDenied", message: message, details: details)
    }

    static func notImplemented(_ message: String) -> StoreError {
        StoreError(status: .notImplemented, code: "NotImplemented", message: message)
    }

    static func invalidRequest(_ message: String) -> StoreError {
        StoreError(status: .badRequest, code: "InvalidRequest", message: message)
    }

    static func invalidURI(_ message: String) -> StoreError {
        StoreError(status: .badRequest, code: "InvalidURI", message: message)
    }

    static func badParameters(_ message: String) -> StoreError {
        StoreError(status: .badRequest, code: "AuthorizationQueryParametersError", message: message)
    }

    static func badDigest(_ name: String) -> StoreError {
        StoreError(
            status: .badRequest, code: "BadDigest",
            message: "The \(name) you specified did not match what was received.")
    }

    static func entityTooLarge(maxBytes: Int64) -> StoreError {
        StoreError(
            status: .badRequest, code: "EntityTooLarge",
            message: "Your proposed upload exceeds the maximum allowed size.",
            details: [["MaxSizeAllowed", String(maxBytes)]])
    }

    static func preconditionFailed(_ condition: String) -> StoreError {
        StoreError(
            status: .preconditionFailed, code: "PreconditionFailed",
            message: "At least one of the preconditions you specified did not hold.",
            details: [["Condition", condition]])
    }

    static func invalidRange(byteCount: Int64) -> StoreError {
        StoreError(
            status: .rangeNotSatisfiable, code: "InvalidRange", message: "The requested range is not satisfiable.",
            details: [["ActualObjectSize", String(byteCount)]])
    }

    static let noSuchBucket = StoreError(
        status: .notFound, code: "NoSuchBucket", message: "The specified bucket does not exist.")
    static let noSuchKey = StoreError(
        status: .notFound, code: "NoSuchKey", message: "The specified key does not exist.")
    static let missingContentLength = StoreError(
        status: .lengthRequired, code: "MissingContentLength",
        message: "You must provide the Content-Length HTTP header.")
    static let incompleteBody = StoreError(
        status: .badRequest, code: "IncompleteBody",
        message: "You did not provide the number of bytes specified by the Content-Length HTTP header.")
    static let unavailable = StoreError(
        status: .serviceUnavailable, code: "ServiceUnavailable", message: "Please reduce your request rate.")
    static let requestTimeout = StoreError(
        status: .badRequest, code: "RequestTimeout",
        message: "Your socket connection to the server was not read from or written to within the timeout period.")
    static let invalidDigest = StoreError(
        status: .badRequest, code: "InvalidDigest", message: "The Content-MD5 you specified is not valid.")
    static let keyTooLong = StoreError(
        status: .badRequest, code: "KeyTooLongError", message: "Your key is too long.")
    static let metadataTooLarge = StoreError(
        status: .badRequest, code: "MetadataTooLarge",
        message: "Your metadata headers exceed the maximum allowed metadata size.")
    static let internalError = StoreError(
        status: .internalServerError, code: "InternalError",
        message: "We encountered an internal error. Please try again.")

    /// Returns the body of the answer, in S3's format.
    func xml(resource: String, requestID: String) -> [UInt8] {
        let elements =
            [["Code", code], ["Message", message]] + details
            + [["Resource", resource], ["RequestId", requestID]]
        let lines = elements.map { "<\($0[0])>\(Self.escaped($0[1]))</\($0[0])>" }
        return Array("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error>\(lines.joined())</Error>".utf8)
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            // XML 1.0 cannot represent these characters.
            case "\u{0}"..<"\u{9}", "\u{B}"..<"\u{D}", "\u{E}"..<" ", "\u{FFFE}", "\u{FFFF}": escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
