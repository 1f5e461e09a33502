import FoundationEssentials
import HTTPServing
import HTTPTypes
import LibCrypto
import Signing
import StrictJSON

/// A stand-in for the token service of Alibaba Cloud: AssumeRole, signed in the older RPC form (HMAC-SHA1) or in the
/// newer one (ACS3-HMAC-SHA256).
///
/// - SeeAlso: Alibaba Cloud STS, "AssumeRole"; "Request syntax and signature method V2 for RPC APIs" and "V3".
struct AlibabaTokenService: Sendable {
    let keys: StoreKeys
    let nonces: NonceMemory

    /// A refusal, in the service's words.
    struct Refusal: Error, Sendable {
        let status: HTTPResponse.Status
        let code: String
        let message: String

        static func invalid(_ code: String, _ message: String) -> Refusal {
            Refusal(status: .badRequest, code: code, message: message)
        }
    }

    /// Answers a call.
    func answer(_ request: StoreRequest, _ form: [NamedValue], _ body: [UInt8], at now: SigningInstant)
        -> ServerResponse
    {
        let requestID = UUID().uuidString
        do {
            let opened = try open(request, form, body, at: now)
            return response(.ok) { json in
                json.member("RequestId", requestID)
                json.object("AssumedRoleUser") { json in
                    json.member("Arn", opened.arn)
                    json.member("AssumedRoleId", "300000000000000001:\(opened.name)")
                }
                json.object("Credentials") { json in
                    json.member("AccessKeyId", opened.session.session.accessKeyID)
                    json.member("AccessKeySecret", opened.session.secret)
                    json.member("SecurityToken", opened.session.token)
                    json.member("Expiration", opened.session.expiration)
                }
            }
        } catch {
            let refusal =
                error as? Refusal
                ?? Refusal(status: .internalServerError, code: "InternalError", message: "The session was not opened.")
            return response(refusal.status) { json in
                json.member("RequestId", requestID)
                json.member("HostId", "localhost")
                json.member("Code", refusal.code)
                json.member("Message", refusal.message)
            }
        }
    }

    private func open(
        _ request: StoreRequest, _ form: [NamedValue], _ body: [UInt8], at now: SigningInstant
    ) throws -> (session: OpenedSession, name: String, arn: String) {
        let pairs = request.query + form
        let parameters = Dictionary(pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        guard parameters.count == pairs.count else {
            throw Refusal.invalid("InvalidParameter", "A parameter is repeated.")
        }
        let action: String?
        if request.headers["authorization"] != nil {
            try verifyACS3(request, body, at: now)
            action = request.headers["x-acs-action"] ?? parameters["Action"]
        } else {
            try verifyRPC(request, pairs, parameters, at: now)
            action = parameters["Action"]
        }
        guard action == "AssumeRole" else {
            throw Refusal(status: .notFound, code: "InvalidAction.NotFound", message: "The store opens sessions only.")
        }
        do {
            let call = try AssumeRoleCall(parameters, .alibaba)
            let session = try call.open(keys.tokens, at: now)
            let arn = call.roleARN.replacing(":role/", with: ":assumed-role/") + "/" + call.sessionName
            return (session, call.sessionName, arn)
        } catch let refusal as AssumeRoleCall.Refusal {
            throw Self.refusal(refusal)
        }
    }

    private static func refusal(_ refusal: AssumeRoleCall.Refusal) -> Refusal {
        switch refusal {
        case .unknownRole:
            Refusal(status: .notFound, code: "EntityNotExist.Role", message: "The specified Role does not exist.")
        case .invalid(let parameter, let reason): .invalid("InvalidParameter.\(parameter)", reason)
        case .malformedPolicy(let reason): .invalid("InvalidParameter.PolicyGrammar", reason)
        }
    }

    private func verifyRPC(
        _ request: StoreRequest, _ pairs: [NamedValue], _ parameters: [String: String], at now: SigningInstant
    ) throws {
        guard parameters["SignatureMethod"] == "HMAC-SHA1", parameters["SignatureVersion"] == "1.0",
            let signature = parameters["Signature"]
        else { throw Refusal.invalid("MissingParameter", "The call has no signature of version 1.0.") }
        let canonical = pairs.filter { $0.name != "Signature" }
            .map { (PercentText.encode($0.name.utf8), PercentText.encode($0.value.utf8)) }
            .sorted { $0.0 < $1.0 }.map { "\($0)=\($1)" }.joined(separator: "&")
        let secret = try secret(parameters["AccessKeyId"], token: parameters["SecurityToken"])
        let text = "\(request.method)&%2F&\(PercentText.encode(canonical.utf8))"
        let expected = HMACKey(Array("\(secret)&".utf8), algorithm: .sha1).authenticationCode(for: Array(text.utf8))
        try compare(expected.base64, signature, stringToSign: text)
        try checkTime(parameters["Timestamp"], nonce: parameters["SignatureNonce"], at: now)
    }

    private func verifyACS3(_ request: StoreRequest, _ body: [UInt8], at now: SigningInstant) throws {
        let start = "ACS3-HMAC-SHA256 "
        guard let value = request.headers["authorization"], value.hasPrefix(start) else {
            throw Refusal.invalid("IncompleteSignature", "The authorization header is not of ACS3-HMAC-SHA256.")
        }
        var parts: [String: String] = [:]
        for part in value.dropFirst(start.count).split(separator: ",") {
            let sides = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1).map(String.init)
            if sides.count == 2 { parts[sides[0]] = sides[1] }
        }
        let names = (parts["SignedHeaders"] ?? "").split(separator: ";").map(String.init)
        let sent = request.headers.keys.filter { $0.hasPrefix("x-acs-") } + ["host"]
        guard Set(names).isSuperset(of: sent), names == names.sorted(), let signature = parts["Signature"] else {
            throw Refusal.invalid(
                "IncompleteSignature", "The signature does not list the host and every x-acs- header.")
        }
        let payload = DigestAlgorithm.sha256.digest(of: body).hex
        guard request.headers["x-acs-content-sha256"] == payload else {
            throw Refusal.invalid("InvalidParameter", "The digest is not that of the body.")
        }
        let query = request.query
            .map { (PercentText.encode($0.name.utf8), PercentText.encode($0.value.utf8)) }
            .sorted { $0.0 < $1.0 }.map { "\($0)=\($1)" }.joined(separator: "&")
        let headers = names.map { "\($0):\(request.headers[$0] ?? "")\n" }.joined()
        let lines = [request.method, request.rawPath, query, headers, names.joined(separator: ";"), payload]
        let hash = DigestAlgorithm.sha256.digest(of: lines.joined(separator: "\n")).hex
        let secret = try secret(parts["Credential"], token: request.headers["x-acs-security-token"])
        let expected = HMACKey(Array(secret.utf8), algorithm: .sha256)
            .authenticationCode(for: Array("ACS3-HMAC-SHA256\n\(hash)".utf8)).hex
        try compare(expected, signature, stringToSign: "ACS3-HMAC-SHA256\n\(hash)")
        try checkTime(request.headers["x-acs-date"], nonce: request.headers["x-acs-signature-nonce"], at: now)
    }

    /// The store's own credential may assume roles; sessions may not.
    private func secret(_ accessKeyID: String?, token: String?) throws -> String {
        guard accessKeyID == keys.credential.accessKeyID, token == keys.credential.securityToken else {
            throw Refusal(
                status: .notFound, code: "InvalidAccessKeyId.NotFound", message: "Specified access key is not found.")
        }
        return keys.credential.secretAccessKey
    }

    /// The clients of the service read the string to sign from the message.
    private func compare(_ expected: String, _ received: String, stringToSign: String) throws {
        guard constantTimeEqual(Array(expected.utf8), Array(received.utf8)) else {
            throw Refusal.invalid(
                "SignatureDoesNotMatch",
                "Specified signature is not matched with our calculation. server string to sign is:\(stringToSign)")
        }
    }

    private func checkTime(_ text: String?, nonce: String?, at now: SigningInstant) throws {
        let tolerance = Int64(StoreVerifier.clockTolerance)
        guard let time = text.flatMap(SigningInstant.init(extended:)),
            abs(time.epochSeconds - now.epochSeconds) <= tolerance
        else { throw Refusal.invalid("InvalidTimeStamp.Expired", "Specified time stamp or date value is expired.") }
        guard let nonce, 1...128 ~= nonce.utf8.count,
            nonces.take(nonce, until: time.epochSeconds + tolerance, at: now.epochSeconds)
        else { throw Refusal.invalid("SignatureNonceUsed", "Specified signature nonce was used already.") }
    }

    private func response(
        _ status: HTTPResponse.Status, _ members: (inout JSONWriter) -> Void
    ) -> ServerResponse {
        var json = JSONWriter()
        json.object(members)
        return ServerResponse(
            head: ResponseHead(status: status, headerFields: [.contentType: "application/json"]),
            body: .bytes(json.bytes))
    }
}
