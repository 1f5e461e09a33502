import HTTPTypes

extension StoreError {
    /// Returns this refusal in the words of a dialect.
    ///
    /// - SeeAlso: Alibaba Cloud OSS, "HTTP status codes and error codes".
    func inWords(of dialect: StoreDialect) -> StoreError {
        guard dialect == .oss else { return self }
        switch code {
        case "AuthorizationQueryParametersError", "AuthorizationHeaderMalformed", "InvalidRequest":
            return StoreError(status: .badRequest, code: "InvalidArgument", message: message, details: details)
        case "InvalidAccessKeyId":
            return StoreError(
                status: .forbidden, code: code, message: "The OSS Access Key Id you provided does not exist.")
        case "InvalidToken":
            return StoreError(
                status: .forbidden, code: "InvalidSecurityToken", message: "The security token you provided is invalid."
            )
        case "ExpiredToken":
            return StoreError(
                status: .forbidden, code: "SecurityTokenExpired",
                message: "The security token you provided has expired.")
        case "BadDigest":
            return StoreError(status: .badRequest, code: "InvalidDigest", message: message)
        case "KeyTooLongError", "InvalidURI":
            return StoreError(status: .badRequest, code: "InvalidObjectName", message: message)
        default: return self
        }
    }
}
