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
    let details: [[String]]

    init(_ status: HTTPResponse.Status, _ code: String, _ message: String, details: [[String]] = []) {
        self.status = status
        self.code = code
        self.message = message
        self.details = details
    }

    static func accessDenied(_ message: String, details: [[String]] = []) -> StoreError {
        StoreError(.forbidden, "AccessDenied", message, details: details)
    }

    static func notImplemented(_ message: String) -> StoreError {
        StoreError(.notImplemented, "NotImplemented", message)
    }

    static func invalidRequest(_ message: String) -> StoreError {
        StoreError(.badRequest, "InvalidRequest", message)
    }

    static func invalidURI(_ message: String) -> StoreError {
        StoreError(.badRequest, "InvalidURI", message)
    }

    static func badParameters(_ message: String) -> StoreError {
        StoreError(.badRequest, "AuthorizationQueryParametersError", message)
    }

    static func badDigest(_ name: String) -> StoreError {
        StoreError(.badRequest, "BadDigest", "The \(name) you specified did not match what was received.")
    }

    static func entityTooLarge(maxBytes: Int64) -> StoreError {
        StoreError(
            .badRequest, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size.",
            details: [["MaxSizeAllowed", String(maxBytes)]])
    }

    static func preconditionFailed(_ condition: String) -> StoreError {
        StoreError(
            .preconditionFailed, "PreconditionFailed", "At least one of the preconditions you specified did not hold.",
            details: [["Condition", condition]])
    }

    static func invalidRange(byteCount: Int64) -> StoreError {
        StoreError(
            .rangeNotSatisfiable, "InvalidRange", "The requested range is not satisfiable.",
            details: [["ActualObjectSize", String(byteCount)]])
    }

    static func invalidArgument(_ message: String) -> StoreError {
        StoreError(.badRequest, "InvalidArgument", message)
    }

    static func malformedHeader(_ message: String, details: [[String]] = []) -> StoreError {
        StoreError(
            .badRequest, "AuthorizationHeaderMalformed", "The authorization header is malformed; \(message)",
            details: details)
    }

    static func timeTooSkewed(serverTime: String) -> StoreError {
        StoreError(
            .forbidden, "RequestTimeTooSkewed",
            "The difference between the request time and the current time is too large.",
            details: [["ServerTime", serverTime]])
    }

    static func entityTooSmall(leastBytes: Int64) -> StoreError {
        StoreError(
            .badRequest, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size.",
            details: [["MinSizeAllowed", String(leastBytes)]])
    }

    static func callbackFailed(_ message: String) -> StoreError {
        StoreError(.nonAuthoritativeInformation, "CallbackFailed", message)
    }

    static let accessDenied = accessDenied("Access Denied")
    static let signatureMismatch = StoreError(
        .forbidden, "SignatureDoesNotMatch",
        "The request signature we calculated does not match the signature you provided. "
            + "Check your key and signing method.")
    static let invalidAccessKey = StoreError(
        .forbidden, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")
    static let invalidToken = StoreError(
        .badRequest, "InvalidToken", "The provided token is malformed or otherwise invalid.")
    static let expiredToken = StoreError(.badRequest, "ExpiredToken", "The provided token has expired.")
    static let payloadMismatch = StoreError(
        .badRequest, "XAmzContentSHA256Mismatch",
        "The provided 'x-amz-content-sha256' header does not match what was computed.")
    static let noSuchUpload = StoreError(
        .notFound, "NoSuchUpload",
        "The specified upload does not exist. "
            + "The upload ID may be invalid, or the upload may have been aborted or completed.")
    static let invalidPart = StoreError(
        .badRequest, "InvalidPart",
        "One or more of the specified parts could not be found, or its entity tag did not match.")
    static let invalidPartOrder = StoreError(
        .badRequest, "InvalidPartOrder", "The list of parts was not in ascending order.")
    static let malformedXML = StoreError(
        .badRequest, "MalformedXML",
        "The XML you provided was not well-formed or did not validate against our published schema.")
    static let malformedChunks = StoreError(
        .badRequest, "InvalidRequest", "The body does not consist of well-formed chunks.")
    static let malformedTrailer = StoreError(
        .badRequest, "MalformedTrailerError",
        "The request contained trailing data that was not well-formed or did not conform to our published schema.")
    static let malformedPost = StoreError(
        .badRequest, "MalformedPOSTRequest", "The body of your POST request is not well-formed multipart/form-data.")
    static let fileAlreadyExists = StoreError(
        .conflict, "FileAlreadyExists", "The object you specified already exists and can not be overwritten.")
    static let noSuchBucket = StoreError(.notFound, "NoSuchBucket", "The specified bucket does not exist.")
    static let noSuchKey = StoreError(.notFound, "NoSuchKey", "The specified key does not exist.")
    static let missingContentLength = StoreError(
        .lengthRequired, "MissingContentLength", "You must provide the Content-Length HTTP header.")
    static let incompleteBody = StoreError(
        .badRequest, "IncompleteBody",
        "You did not provide the number of bytes specified by the Content-Length HTTP header.")
    static let unavailable = StoreError(.serviceUnavailable, "ServiceUnavailable", "Please reduce your request rate.")
    static let requestTimeout = StoreError(
        .badRequest, "RequestTimeout",
        "Your socket connection to the server was not read from or written to within the timeout period.")
    static let invalidDigest = StoreError(.badRequest, "InvalidDigest", "The Content-MD5 you specified is not valid.")
    static let keyTooLong = StoreError(.badRequest, "KeyTooLongError", "Your key is too long.")
    static let metadataTooLarge = StoreError(
        .badRequest, "MetadataTooLarge", "Your metadata headers exceed the maximum allowed metadata size.")
    static let internalError = StoreError(
        .internalServerError, "InternalError", "We encountered an internal error. Please try again.")

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
