import HTTPTypes

extension StoreError {
    /// Returns this refusal in the words of a dialect.
    ///
    /// - SeeAlso: Alibaba Cloud OSS, "HTTP status codes and error codes".
    func inWords(of dialect: StoreDialect) -> StoreError {
        guard dialect == .oss else { return self }
        switch code {
        case "AuthorizationQueryParametersError", "AuthorizationHeaderMalformed", "InvalidRequest":
            return StoreError(.badRequest, "InvalidArgument", message, details: details)
        case "InvalidAccessKeyId":
            return StoreError(.forbidden, code, "The OSS Access Key Id you provided does not exist.")
        case "InvalidToken":
            return StoreError(
                .forbidden, "InvalidSecurityToken", "The security token you provided is invalid."
            )
        case "ExpiredToken":
            return StoreError(.forbidden, "SecurityTokenExpired", "The security token you provided has expired.")
        case "BadDigest":
            return StoreError(.badRequest, "InvalidDigest", message)
        case "KeyTooLongError", "InvalidURI":
            return StoreError(.badRequest, "InvalidObjectName", message)
        default: return self
        }
    }
}
