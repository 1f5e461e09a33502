import Bytes
import LibCrypto

/// ACS3-HMAC-SHA256, the signature of Alibaba Cloud's management services such as STS. It does not derive keys.
///
/// - SeeAlso: Alibaba Cloud, "Request syntax and signature method V3".
public enum ACS3 {
    private static let algorithm = "ACS3-HMAC-SHA256"
    private static let headerForm = CanonicalHeaderForm(
        payloadHeader: "x-acs-content-sha256", collapsesWhiteSpace: false, unlistedPrefix: nil)

    /// Signs a call of a service in its `Authorization` header and shows each stage.
    ///
    /// - Parameters:
    ///   - request: The request, to a service that names no bucket. All its headers are bound, and the hash of its body
    ///     is required.
    ///   - action: Name of the operation, such as `AssumeRole`.
    ///   - version: Version of the service's interface.
    ///   - nonce: A text that is unique to this request; a retry needs another one.
    ///   - credential: Who signs.
    ///   - instant: When the request is made.
    /// - Throws: ``SigningError``.
    public static func authorize(
        _ request: SignableRequest,
        action: String,
        version: String,
        nonce: String,
        with credential: SigningCredential,
        at instant: SigningInstant
    ) throws(SigningError) -> AuthorizedRequest {
        try RequestMethod.check(request.method)
        guard request.payload != .unsigned else { throw .payloadNotBound }
        guard credential.accessKeyID.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ",") }),
            !credential.accessKeyID.isEmpty
        else { throw .invalidCredential("the access key id is empty or holds what a header cannot") }
        let own = ownHeaders(request, action: action, version: version, nonce: nonce, with: credential, at: instant)
        let bound = try BoundHeaders(
            request.headers, own: own, address: request.address, bindsHost: true, form: headerForm, vendor: nil)
        let canonicalRequest = V4CanonicalRequest(
            method: request.method,
            path: V4Stages.path(
                of: request.address, key: request.key, keeping: .unreservedAndSlash),
            query: CanonicalQuery(request.query, writesBareNames: false),
            headers: bound, payload: request.payload
        )
        let stringToSign =
            Array("\(algorithm)\n".utf8) + Array(DigestAlgorithm.sha256.digest(of: canonicalRequest.bytes).hex.utf8)
        let signature = HMACKey(Array(credential.secretAccessKey.utf8), algorithm: .sha256)
            .authenticationCode(for: stringToSign).hex
        let names = bound.section.names
        return AuthorizedRequest(
            request,
            canonicalRequest: canonicalRequest,
            stringToSign: stringToSign,
            signature: signature,
            authorization:
                "\(algorithm) Credential=\(credential.accessKeyID),SignedHeaders=\(names),Signature=\(signature)",
            headers: bound,
            body: nil
        )
    }

    /// Signs a call of AssumeRole of Alibaba Cloud, whose parameters are the query of a POST without a body.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - endpoint: The service, such as `https://sts.cn-hangzhou.aliyuncs.com`.
    ///   - nonce: A text that is unique to this request; a retry needs another one.
    ///   - credential: Who may assume the role.
    ///   - instant: When the request is made.
    /// - Throws: ``SigningError``.
    public static func assumeRole(
        _ call: AssumeRole,
        endpoint: StoreEndpoint,
        nonce: String,
        with credential: SigningCredential,
        at instant: SigningInstant
    ) throws(SigningError) -> AuthorizedRequest {
        let request = SignableRequest(
            method: "POST",
            address: BucketAddress(service: endpoint),
            key: "",
            headers: [NamedValue("accept", "application/json")],
            query: call.parameters,
            payload: PayloadHash(of: [])
        )
        return try authorize(
            request, action: "AssumeRole", version: "2015-04-01", nonce: nonce, with: credential, at: instant)
    }

    private static func ownHeaders(
        _ request: SignableRequest, action: String, version: String, nonce: String, with credential: SigningCredential,
        at instant: SigningInstant
    ) -> [NamedValue] {
        var headers = [
            NamedValue("x-acs-action", action), NamedValue("x-acs-version", version),
            NamedValue("x-acs-date", instant.extended), NamedValue("x-acs-signature-nonce", nonce),
            NamedValue("x-acs-content-sha256", request.payload.text),
        ]
        if let token = credential.securityToken {
            headers.append(NamedValue("x-acs-accesskey-id", credential.accessKeyID))
            headers.append(NamedValue("x-acs-security-token", token))
        }
        return headers
    }
}
