import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `POST /v1/aws/sts`: the operation `AssumeRoleWithWebIdentity` of the AWS Security Token Service.
struct WebIdentityEndpoints: Sendable {
    let useCase: Sessions

    /// Issues credentials for the role that the form names.
    @Sendable func assumeRole(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        try request.allowQuery([])
        let form = try WebIdentityForm(request)
        let wanted = try SessionRequest.ofSDK(form.role.bucket, form.role.prefix, duration: form.duration)
        let issued = try await useCase.issue(wanted, in: request.context(of: caller, opensSession: true))
        var response = STSAnswer.response(.ok, STSAnswer.credentials(issued, for: form, of: caller, request.id))
        response.setRateLimit(issued.quotas)
        return response
    }

    /// Makes the answer for a refusal, with the codes of AWS and the true status.
    @Sendable static func refusal(_ problem: Problem, _ requestID: String) -> ServerResponse {
        let (code, status) = STSAnswer.code(of: problem)
        var response = STSAnswer.response(
            status,
            """
            <ErrorResponse xmlns="\(STSAnswer.namespace)"><Error>\
            <Type>\(status.code < 500 ? "Sender" : "Receiver")</Type><Code>\(code)</Code>\
            <Message>\(STSAnswer.escaped(problem.detail ?? problem.kind.title))</Message></Error>\
            <RequestId>\(STSAnswer.escaped(requestID))</RequestId></ErrorResponse>
            """)
        problem.addHeaders(to: &response)
        response.head.headerFields[.wwwAuthenticate] = nil
        return response
    }
}

/// The XML of the service's answers.
enum STSAnswer {
    static let namespace = "https://sts.amazonaws.com/doc/2011-06-15/"

    /// The answer with credentials. `AssumedRoleUser` repeats the names that the client chose.
    static func credentials(
        _ issued: IssuedSession, for form: WebIdentityForm, of caller: Caller, _ requestID: String
    ) -> String {
        let credential = issued.credential
        let subject = caller.principal.rawValue.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst()
        return """
            <AssumeRoleWithWebIdentityResponse xmlns="\(namespace)"><AssumeRoleWithWebIdentityResult>\
            <SubjectFromWebIdentityToken>\(escaped(String(decoding: subject, as: UTF8.self)))\
            </SubjectFromWebIdentityToken><AssumedRoleUser>\
            <Arn>arn:aws:sts::000000000000:assumed-role/sluice/\(escaped(form.sessionName))</Arn>\
            <AssumedRoleId>sluice:\(escaped(form.sessionName))</AssumedRoleId></AssumedRoleUser><Credentials>\
            <AccessKeyId>\(escaped(credential.accessKeyID))</AccessKeyId>\
            <SecretAccessKey>\(escaped(credential.secretAccessKey.reveal()))</SecretAccessKey>\
            <SessionToken>\(escaped(credential.sessionToken.reveal()))</SessionToken>\
            <Expiration>\(Timestamp.text(of: credential.expiresAt))</Expiration></Credentials>\
            </AssumeRoleWithWebIdentityResult><ResponseMetadata><RequestId>\(escaped(requestID))</RequestId>\
            </ResponseMetadata></AssumeRoleWithWebIdentityResponse>
            """
    }

    /// The code of AWS for a problem, and the status of the answer. The SDKs ask again after those of the service.
    static func code(of problem: Problem) -> (code: String, status: HTTPResponse.Status) {
        switch problem.kind {
        case .unauthenticated: return ("InvalidIdentityToken", .badRequest)
        case .expiredToken: return ("ExpiredTokenException", .badRequest)
        case .accessDenied, .conditionFailed, .roleRequired, .outsideAdminScope, .notEnforceable:
            return ("AccessDenied", .forbidden)
        case .quotaExceeded, .tooManyRequests: return ("Throttling", .tooManyRequests)
        case .slowDown, .unavailable, .storeRefused: return ("ServiceUnavailable", problem.kind.status)
        case .internalError: return ("InternalFailure", .internalServerError)
        case .invalidArgument:
            switch problem.members.first(where: { $0.name == "field" })?.value {
            case .string("Action"): return ("InvalidAction", .badRequest)
            case .string("Policy"): return ("MalformedPolicyDocument", .badRequest)
            default: return ("ValidationError", .badRequest)
            }
        default: return ("ValidationError", problem.kind.status)
        }
    }

    static func response(_ status: HTTPResponse.Status, _ xml: String) -> ServerResponse {
        ServerResponse(
            head: ResponseHead(
                status: status, headerFields: [.contentType: "text/xml", .cacheControl: "no-store"]),
            body: .bytes(Array(xml.utf8)))
    }

    /// Text as the content of an element.
    static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes += Array("&amp;".utf8)
            case UInt8(ascii: "<"): bytes += Array("&lt;".utf8)
            case UInt8(ascii: ">"): bytes += Array("&gt;".utf8)
            // XML 1.0 has no other control characters.
            case 0..<0x20 where ![0x09, 0x0A, 0x0D].contains(byte): bytes.append(UInt8(ascii: "?"))
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
