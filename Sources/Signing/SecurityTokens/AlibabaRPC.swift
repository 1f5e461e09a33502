import Bytes
import LibCrypto

/// Calls of Alibaba Cloud's services in the RPC style, signature version 1.0: HMAC-SHA1 over all parameters.
///
/// - SeeAlso: Alibaba Cloud, "Request syntax and signature method V2 for RPC APIs".
public enum AlibabaRPC {
    /// Where the parameters go.
    public enum Placement: Sendable, Hashable {
        /// Into the URL.
        case query
        /// Into the body, as an HTML form.
        case body
    }

    /// A call.
    public struct Call: Sendable, Hashable {
        /// Method in upper case; `POST` with parameters in the body.
        public var method: String
        /// Where the service answers.
        public var endpoint: StoreEndpoint
        /// Name of the operation.
        public var action: String
        /// Version of the service's API, such as `2015-04-01`.
        public var version: String
        /// Parameters of the operation. A parameter with the name of a common one replaces it.
        public var parameters: [NamedValue]
        /// A text that is unique to this call; a retry needs another one.
        public var nonce: String
        /// Where the parameters go.
        public var placement: Placement

        /// Describes a call. It is checked when it is signed.
        public init(
            method: String = "POST", endpoint: StoreEndpoint, action: String, version: String,
            parameters: [NamedValue], nonce: String, placement: Placement
        ) {
            self.method = method
            self.endpoint = endpoint
            self.action = action
            self.version = version
            self.parameters = parameters
            self.nonce = nonce
            self.placement = placement
        }
    }

    /// Signs a call and shows each stage.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - credential: Who calls.
    ///   - instant: When the call is made. Services accept a difference of 15 minutes.
    /// - Throws: ``SigningError`` for an invalid method, and for a parameter that is given twice or that the signer
    ///   writes itself.
    public static func sign(
        _ call: Call, with credential: SigningCredential, at instant: SigningInstant
    ) throws(SigningError) -> AuthorizedRequest {
        try RequestMethod.check(call.method)
        var parameters = try parameters(of: call, credential: credential, instant: instant)
        let stringToSign = stringToSign(method: call.method, parameters: parameters)
        let key = HMACKey(Array("\(credential.secretAccessKey)&".utf8), algorithm: .sha1)
        let signature = key.authenticationCode(for: Array(stringToSign.utf8)).base64
        parameters.append(NamedValue("Signature", signature))
        let text = parameters.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&")
        let address = BucketAddress(service: call.endpoint)
        let isInBody = call.placement == .body
        return AuthorizedRequest(
            method: call.method,
            url: "\(address.origin)/" + (isInBody ? "" : "?\(text)"),
            path: "/",
            query: isInBody ? [] : parameters,
            headers: isInBody ? [NamedValue("content-type", "application/x-www-form-urlencoded")] : [],
            body: isInBody ? text : nil,
            canonicalRequest: nil,
            stringToSign: stringToSign,
            signature: signature,
            authorization: ""
        )
    }

    /// All parameters except the signature.
    private static func parameters(
        of call: Call, credential: SigningCredential, instant: SigningInstant
    ) throws(SigningError) -> [NamedValue] {
        let own = [
            NamedValue("AccessKeyId", credential.accessKeyID), NamedValue("SignatureMethod", "HMAC-SHA1"),
            NamedValue("SignatureVersion", "1.0"),
        ]
        let common = [
            NamedValue("Action", call.action), NamedValue("Version", call.version), NamedValue("Format", "JSON"),
            NamedValue("SignatureNonce", call.nonce), NamedValue("Timestamp", instant.extended),
        ]
        var all = call.parameters
        for (index, parameter) in all.enumerated() {
            guard !["Signature", "SecurityToken"].contains(parameter.name),
                own.allSatisfy({ $0.name != parameter.name || $0.value == parameter.value })
            else { throw .reservedQueryParameter(parameter.name) }
            guard !all[..<index].contains(where: { $0.name == parameter.name }) else {
                throw .duplicateQueryParameter(parameter.name)
            }
        }
        all += (common + own).filter { common in !all.contains { $0.name == common.name } }
        if let token = credential.securityToken { all.append(NamedValue("SecurityToken", token)) }
        return all
    }

    private static func stringToSign(method: String, parameters: [NamedValue]) -> String {
        let canonical = parameters.map { (name: encode($0.name), value: encode($0.value)) }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            .map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        return "\(method)&%2F&\(encode(canonical))"
    }

    private static func encode(_ text: String) -> String {
        String(decoding: PercentEncoding.encode(text, keeping: .unreserved), as: UTF8.self)
    }
}
