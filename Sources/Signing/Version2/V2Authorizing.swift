import Bytes

/// A "version 2" signature in the `Authorization` header, stage by stage.
struct V2Authorizing {
    /// The request with all stages.
    let authorizedRequest: AuthorizedRequest

    /// Signs a request.
    ///
    /// - Parameters:
    ///   - request: The request. A date given in `Date` or in the vendor's header is signed unchanged.
    ///   - pathForm: How the key is written in the path of the URL.
    ///   - dialect: The scheme's names and rules.
    ///   - key: Key of the credential.
    ///   - instant: When the request is made.
    /// - Throws: ``SigningError`` for a request that the scheme cannot express, or that it would sign like another one.
    init(
        _ request: SignableRequest, pathForm: PresignRequest.PathForm, dialect: V2Dialect, key: SigningKeyV2,
        instant: SigningInstant
    ) throws(SigningError) {
        try RequestMethod.check(request.method)
        var headers = request.headers.map { NamedValue($0.name.lowercased(), $0.value) }
        let date = Self.addDate(to: &headers, dialect: dialect, instant: instant)
        try Self.addToken(to: &headers, dialect: dialect, key: key)
        // A token in the query would belong to another credential.
        if case .subResource(let name) = dialect.tokenForm, request.query.contains(where: { $0.name == name }) {
            throw .reservedQueryParameter(name)
        }
        let bound = try V2BoundParts(headers: headers, query: request.query, dialect: dialect)
        let resource = V2Resource(address: request.address, key: request.key, pathForm: pathForm)
        let path = try resource.urlPath(dialect)
        let stringToSign = V2StringToSign.text(
            method: request.method, bound: bound, date: date, path: resource.signedPath(dialect, urlPath: path)
        )
        let signature = try key.signature(of: stringToSign, dialect: dialect)
        let authorization = try key.authorization(signature, dialect: dialect)
        var target = path
        for (index, parameter) in request.query.enumerated() {
            target.append(index == 0 ? UInt8(ascii: "?") : UInt8(ascii: "&"))
            PercentEncoding.append(parameter, to: &target)
        }
        authorizedRequest = AuthorizedRequest(
            method: request.method,
            url: request.address.origin + String(decoding: target, as: UTF8.self),
            path: String(decoding: path, as: UTF8.self),
            query: request.query,
            headers: headers + [NamedValue("authorization", authorization)],
            body: nil,
            canonicalRequest: nil,
            stringToSign: String(decoding: stringToSign, as: UTF8.self),
            signature: signature,
            authorization: authorization
        )
    }

    /// The date line. Headers without a date get the current one.
    private static func addDate(
        to headers: inout [NamedValue], dialect: V2Dialect, instant: SigningInstant
    ) -> String {
        if let vendorDate = headers.first(where: { $0.name == dialect.dateHeader }) {
            return dialect.vendorDateFillsLine ? vendorDate.value : ""
        }
        if let date = headers.first(where: { $0.name == "date" }) { return date.value }
        headers.append(NamedValue("date", instant.httpDate))
        return instant.httpDate
    }

    private static func addToken(
        to headers: inout [NamedValue], dialect: V2Dialect, key: SigningKeyV2
    ) throws(SigningError) {
        let given = headers.first { $0.name == dialect.tokenHeader }
        guard given == nil || given?.value == key.securityToken else { throw .reservedHeader(dialect.tokenHeader) }
        guard let token = key.securityToken, given == nil else { return }
        if case .unsupported = dialect.tokenForm {
            throw .invalidCredential("the scheme has no place for a security token")
        }
        headers.append(NamedValue(dialect.tokenHeader, token))
    }
}
