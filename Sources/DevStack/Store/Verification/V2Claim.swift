import Signing

/// What a signer of AWS version 2 or OSS version 1 wrote into a request.
struct V2Claim: Sendable {
    let accessKeyID: String
    let signature: String
    let token: String?
    /// The end of a presigned URL, as sent: seconds since 1970.
    let expires: String?
    private let instant: SigningInstant

    /// Reads the parameters of a presigned URL.
    init(query request: StoreRequest, dialect: StoreDialect) throws(StoreError) {
        let (idName, tokenName) =
            switch dialect {
            case .s3: ("AWSAccessKeyId", "x-amz-security-token")
            case .oss: ("OSSAccessKeyId", "security-token")
            }
        guard let id = try request.parameter(idName), let signature = try request.parameter("Signature"),
            let expires = try request.parameter("Expires")
        else {
            throw .accessDenied(
                "Query-string authentication requires the Signature, Expires and \(idName) parameters")
        }
        guard 1...12 ~= expires.utf8.count, expires.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
            let end = Int64(expires).flatMap(SigningInstant.init(epochSeconds:))
        else { throw .accessDenied("Invalid date (should be seconds since epoch): \(expires)") }
        let inHeader = request.headers[dialect.headerPrefix + "security-token"]
        accessKeyID = id
        self.signature = signature
        token = try request.parameter(tokenName) ?? inHeader
        self.expires = expires
        instant = end
    }

    /// Reads the `Authorization` header.
    init(header request: StoreRequest, dialect: StoreDialect) throws(StoreError) {
        let word = dialect == .s3 ? "AWS " : "OSS "
        let parts = (request.headers["authorization"] ?? "").dropFirst(word.count)
            .split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else {
            throw .invalidArgument("The authorization header must be '\(word)AccessKeyId:Signature'.")
        }
        let date = request.headers[dialect.headerPrefix + "date"] ?? request.headers["date"] ?? ""
        guard let instant = SigningInstant(httpDate: date) else {
            throw .accessDenied("Authentication requires a valid Date or \(dialect.headerPrefix)date header")
        }
        accessKeyID = String(parts[0])
        signature = String(parts[1])
        token = request.headers[dialect.headerPrefix + "security-token"]
        expires = nil
        self.instant = instant
    }

    /// Refuses a URL that has ended, and a header that is too old or too new.
    func check(at now: SigningInstant) throws(StoreError) {
        if expires != nil {
            guard now <= instant else {
                throw .accessDenied("Request has expired", details: [["ServerTime", now.extended]])
            }
        } else {
            guard abs(now.epochSeconds - instant.epochSeconds) <= Int64(StoreVerifier.clockTolerance) else {
                throw .timeTooSkewed(serverTime: now.extended)
            }
        }
    }
}
