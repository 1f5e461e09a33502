import HTTPTypes

/// A refusal of the embedded store, in S3's terms. ``inWords(of:)`` translates it for OSS.
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

    static func invalidArgument(_ message: String, details: [[String]] = []) -> StoreError {
        StoreError(status: .badRequest, code: "InvalidArgument", message: message, details: details)
    }

    static func malformedHeader(_ message: String, details: [[String]] = []) -> StoreError {
        StoreError(
            status: .badRequest, code: "AuthorizationHeaderMalformed",
            message: "The authorization header is malformed; \(message)", details: details)
    }

    static func timeTooSkewed(serverTime: String) -> StoreError {
        StoreError(
            status: .forbidden, code: "RequestTimeTooSkewed",
            message: "The difference between the request time and the current time is too large.",
            details: [["ServerTime", serverTime]])
    }

    static func entityTooSmall(leastBytes: Int64) -> StoreError {
        StoreError(
            status: .badRequest, code: "EntityTooSmall",
            message: "Your proposed upload is smaller than the minimum allowed size.",
            details: [["MinSizeAllowed", String(leastBytes)]])
    }

    static func callbackFailed(_ message: String) -> StoreError {
        StoreError(status: .nonAuthoritativeInformation, code: "CallbackFailed", message: message)
    }

    static let accessDenied = accessDenied("Access Denied")
    static let signatureMismatch = StoreError(
        status: .forbidden, code: "SignatureDoesNotMatch",
        message: "The request signature we calculated does not match the signature you provided. "
            + "Check your key and signing method.")
    static let invalidAccessKey = StoreError(
        status: .forbidden, code: "InvalidAccessKeyId",
        message: "The AWS Access Key Id you provided does not exist in our records.")
    static let invalidToken = StoreError(
        status: .badRequest, code: "InvalidToken", message: "The provided token is malformed or otherwise invalid.")
    static let expiredToken = StoreError(
        status: .badRequest, code: "ExpiredToken", message: "The provided token has expired.")
    static let payloadMismatch = StoreError(
        status: .badRequest, code: "XAmzContentSHA256Mismatch",
        message: "The provided 'x-amz-content-sha256' header does not match what was computed.")
    static let noSuchUpload = StoreError(
        status: .notFound, code: "NoSuchUpload",
        message: "The specified upload does not exist. The upload ID may be invalid, or the upload may have been "
            + "aborted or completed.")
    static let invalidPart = StoreError(
        status: .badRequest, code: "InvalidPart",
        message: "One or more of the specified parts could not be found, or its entity tag did not match.")
    static let invalidPartOrder = StoreError(
        status: .badRequest, code: "InvalidPartOrder", message: "The list of parts was not in ascending order.")
    static let malformedXML = StoreError(
        status: .badRequest, code: "MalformedXML",
        message: "The XML you provided was not well-formed or did not validate against our published schema.")
    static let malformedPost = StoreError(
        status: .badRequest, code: "MalformedPOSTRequest",
        message: "The body of your POST request is not well-formed multipart/form-data.")
    static let fileAlreadyExists = StoreError(
        status: .conflict, code: "FileAlreadyExists",
        message: "The object you specified already exists and can not be overwritten.")
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

    /// Returns the body of the answer, in the words of a dialect.
    func xml(in dialect: StoreDialect, resource: String, requestID: String) -> [UInt8] {
        let error = inWords(of: dialect)
        let ends =
            switch dialect {
            case .s3: [["Resource", resource], ["RequestId", requestID]]
            case .oss: [["RequestId", requestID], ["HostId", "localhost"]]
            }
        let elements = [["Code", error.code], ["Message", error.message]] + error.details + ends
        return StoreXML("Error", elements.map { StoreXML($0[0], $0[1]) }).document
    }
}
