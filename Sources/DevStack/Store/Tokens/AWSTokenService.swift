import FoundationEssentials
import HTTPServing
import HTTPTypes
import LibCrypto
import Signing

/// A stand-in for the token service of AWS: AssumeRole with Signature Version 4, as a form or a query.
///
/// - SeeAlso: AWS STS, "AssumeRole".
struct AWSTokenService: Sendable {
    let verifier: StoreVerifier

    private static let namespace = "https://sts.amazonaws.com/doc/2011-06-15/"

    /// Answers a call.
    func answer(_ request: StoreRequest, _ form: [NamedValue], _ body: [UInt8], at now: SigningInstant)
        -> ServerResponse
    {
        let requestID = UUID().uuidString.lowercased()
        do {
            return try opened(request, form, body, requestID, at: now)
        } catch let refusal as AssumeRoleCall.Refusal {
            switch refusal {
            case .unknownRole:
                return error(.forbidden, "AccessDenied", "The caller may not assume this role.", requestID)
            case .invalid(let parameter, let reason):
                return error(.badRequest, "ValidationError", "\(parameter): \(reason)", requestID)
            case .malformedPolicy(let reason):
                return error(.badRequest, "MalformedPolicyDocument", reason, requestID)
            }
        } catch let refusal as StoreError {
            let code = refusal.code == "InvalidAccessKeyId" ? "InvalidClientTokenId" : refusal.code
            return error(refusal.status, code, refusal.message, requestID)
        } catch {
            return self.error(.internalServerError, "InternalFailure", "The session was not opened.", requestID)
        }
    }

    private func opened(
        _ request: StoreRequest, _ form: [NamedValue], _ body: [UInt8], _ requestID: String, at now: SigningInstant
    ) throws -> ServerResponse {
        let rules = V4Rules.aws(region: verifier.region, service: "sts")
        guard let found = try SignatureClaim.of(request) else {
            throw StoreError(.forbidden, "MissingAuthenticationToken", "Request is missing Authentication Token")
        }
        guard found.scheme == .awsV4 else { throw StoreError.invalidAccessKey }
        let claim =
            try found.isPresigned ? V4Claim(query: request, rules: rules) : V4Claim(header: request, rules: rules)
        let payload = DigestAlgorithm.sha256.digest(of: body).hex
        guard try verifier.verify(claim, of: request, payload: payload, rules, at: now) == nil else {
            throw StoreError.accessDenied("A session of this store may not assume a role.")
        }
        let pairs = request.query + form
        let parameters = Dictionary(pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        guard parameters.count == pairs.count, parameters["Action"] == "AssumeRole",
            parameters["Version"] == "2011-06-15"
        else {
            throw StoreError(.badRequest, "InvalidAction", "The store knows AssumeRole of 2011-06-15 only.")
        }
        let call = try AssumeRoleCall(parameters, .aws)
        let session = try call.open(verifier.keys.tokens, at: now)
        let arn =
            call.roleARN.replacing(":iam:", with: ":sts:").replacing(":role/", with: ":assumed-role/")
            + "/\(call.sessionName)"
        return StoreXML(
            "AssumeRoleResponse", namespace: Self.namespace,
            [
                StoreXML(
                    "AssumeRoleResult",
                    [
                        StoreXML(
                            "Credentials",
                            [
                                StoreXML("AccessKeyId", session.session.accessKeyID),
                                StoreXML("SecretAccessKey", session.secret), StoreXML("SessionToken", session.token),
                                StoreXML("Expiration", session.expiration),
                            ]),
                        StoreXML(
                            "AssumedRoleUser",
                            [StoreXML("Arn", arn), StoreXML("AssumedRoleId", "AROADEMO:\(call.sessionName)")]),
                    ]),
                StoreXML("ResponseMetadata", [StoreXML("RequestId", requestID)]),
            ]
        ).response()
    }

    private func error(
        _ status: HTTPResponse.Status, _ code: String, _ message: String, _ requestID: String
    ) -> ServerResponse {
        StoreXML(
            "ErrorResponse", namespace: Self.namespace,
            [
                StoreXML(
                    "Error", [StoreXML("Type", "Sender"), StoreXML("Code", code), StoreXML("Message", message)]),
                StoreXML("RequestId", requestID),
            ]
        ).response(status)
    }
}
