public import FoundationEssentials
public import GatewayCore
import LibCurl
public import Logging
import Signing

/// Opens sessions at the security token services of Alibaba Cloud, AWS and compatible providers, by AssumeRole.
public struct SecurityTokenService: SessionOpener {
    /// Maximum length of an answer in bytes. Tokens have a few hundred.
    public static let maxBytes = 65_536

    private let client: OutboundClient
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let randomBytes: @Sendable (Int) throws -> [UInt8]
    private let timeout: Duration

    // A second attempt has another nonce and another time. Further attempts would only add to the load of a failing
    // service.
    private static let maxAttempts = 2

    /// Makes a client of such services.
    ///
    /// - Parameters:
    ///   - client: The client for requests to the services.
    ///   - logger: Gets the reason of a failure: never a secret, and only the code of an answer.
    ///   - now: The clock for the dates of requests.
    ///   - randomBytes: Source of nonces.
    ///   - timeout: Time for one attempt.
    public init(
        client: OutboundClient, logger: Logger, now: @escaping @Sendable () -> Date,
        randomBytes: @escaping @Sendable (Int) throws -> [UInt8], timeout: Duration = .seconds(4)
    ) {
        self.client = client
        self.logger = logger
        self.now = now
        self.randomBytes = randomBytes
        self.timeout = timeout
    }

    /// Opens a session. It tries once more with a new nonce if that may help.
    public func open(_ order: SessionOrder) async throws(GatewayError) -> SessionCredential {
        var failure = SessionFailure.noAnswer
        for attempt in 1...Self.maxAttempts {
            do throws(SessionFailure) {
                return try await attemptToOpen(order)
            } catch {
                failure = error
                logger.warning(
                    "session not opened",
                    metadata: [
                        "credential.id": "\(order.credential.id.uuidString.lowercased())", "attempt": "\(attempt)",
                        "reason": "\(error.cause)",
                    ])
                guard error.mayPass, !Task.isCancelled else { break }
            }
        }
        throw failure.asGatewayError
    }

    private func attemptToOpen(_ order: SessionOrder) async throws(SessionFailure) -> SessionCredential {
        let call = try signedCall(order)
        let answer: HTTPTransfer.Answer
        do throws(OutboundError) {
            answer = try await client.send(
                .post(body: Array((call.body ?? "").utf8)), call.url,
                fields: call.headers.map { HTTPTransfer.Field($0.name, $0.value) }, maxBytes: Self.maxBytes,
                timeout: timeout, for: .tokenService)
        } catch {
            throw error == .notPermitted ? .notPermitted : .noAnswer
        }
        let reading =
            order.role.service == .aws ? AssumeRoleAnswer(xml: answer.body) : AssumeRoleAnswer(json: answer.body)
        guard answer.status == 200 else { throw .refused(status: answer.status, code: reading.code) }
        guard let credential = reading.credential else { throw .malformed }
        return credential
    }

    private func signedCall(_ order: SessionOrder) throws(SessionFailure) -> AuthorizedRequest {
        let role = order.role
        guard let instant = SigningInstant(epochSeconds: Int64(now().timeIntervalSince1970)),
            let bytes = try? randomBytes(16)
        else { throw .cannotSign }
        let nonce = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        let call = AssumeRole(
            roleARN: role.roleARN, sessionName: order.name, durationSeconds: order.duration, policy: order.policy,
            externalID: role.externalID)
        let credential = SigningCredential(
            accessKeyID: order.credential.accessKeyID,
            secretAccessKey: order.credential.secretAccessKey.reveal(),
            securityToken: order.credential.sessionToken?.reveal())
        do throws(SigningError) {
            let endpoint = try StoreEndpoint(role.endpoint)
            switch role.service {
            case .alibaba:
                return try ACS3.assumeRole(call, endpoint: endpoint, nonce: nonce, with: credential, at: instant)
            case .alibabaRPC:
                let parameters = [
                    ("RoleArn", role.roleARN), ("RoleSessionName", order.name),
                    ("DurationSeconds", String(order.duration)), ("Policy", order.policy),
                ]
                return try AlibabaRPC.sign(
                    AlibabaRPC.Call(
                        endpoint: endpoint, action: "AssumeRole", version: "2015-04-01",
                        parameters: (parameters + (role.externalID.map { [("ExternalId", $0)] } ?? []))
                            .map { NamedValue($0, $1) },
                        nonce: nonce, placement: .query),
                    with: credential, at: instant)
            case .aws:
                let key = try SigningKeyV4(credential, scope: .aws(region: role.region, service: "sts"), at: instant)
                return try AWSV4.assumeRole(call, endpoint: endpoint, with: key, at: instant)
            }
        } catch {
            throw .cannotSign
        }
    }
}

/// Why no session was opened.
enum SessionFailure: Error, Equatable {
    /// The gateway may not connect to the endpoint.
    case notPermitted
    /// The whole answer did not arrive in time.
    case noAnswer
    /// The service answered with a status and a code of its own.
    case refused(status: Int, code: String?)
    /// The service answered 200 without credentials.
    case malformed
    /// The rows are unusable for signing.
    case cannotSign

    /// Whether a second attempt with another nonce may help.
    var mayPass: Bool {
        switch self {
        case .noAnswer, .malformed: true
        case .refused(let status, let code):
            !isThrottled && (status >= 500 && status != 501 || Self.passing.contains(code ?? ""))
        case .notPermitted, .cannotSign: false
        }
    }

    /// Whether the service asks the caller to slow down.
    private var isThrottled: Bool {
        guard case .refused(let status, let code) = self else { return false }
        return status == 429 || code?.hasPrefix("Throttling") == true || Self.throttling.contains(code ?? "")
    }

    /// The error for the caller. Except for slowing down and a smaller request, only an admin can fix it.
    var asGatewayError: GatewayError {
        if isThrottled { return .slowDown(retryAfter: 2, cause: cause) }
        switch self {
        case .noAnswer, .malformed: return .unavailable(retryAfter: 5, cause: cause)
        case .refused(let status, let code):
            if Self.policyCodes.contains(code ?? "") {
                return .notEnforceable(
                    reason: """
                        The service does not take the session policy; ask for a narrower prefix, or for presigned URLs \
                        (POST /v1/presigned-urls) instead.
                        """)
            }
            // The service does not implement the operation, so it will refuse again.
            if status == 501 { return .storeRefused(status: status, code: code) }
            return .unavailable(retryAfter: status >= 500 ? 5 : 60, cause: cause)
        case .notPermitted, .cannotSign: return .unavailable(retryAfter: 60, cause: cause)
        }
    }

    /// The failure in words, for the log and for admins.
    var cause: Cause {
        let advice = "The bucket's token service gave no session"
        return switch self {
        case .notPermitted:
            Cause(
                "no session was opened: \(OutboundError.notPermitted.phrase) (notPermitted)",
                advice:
                    "The gateway may not connect to the bucket's token service; an admin has to look at its endpoint.")
        case .noAnswer: Cause("no session was opened: no whole answer (noAnswer)", advice: advice + ".")
        case .refused(let status, let code):
            Cause(
                "no session was opened: the service answered \(status) \(code ?? "without a code")",
                advice: advice + ": it answered \(status)\(code.map { " " + $0 } ?? "").")
        case .malformed: Cause("no session was opened: the answer is malformed", advice: advice + ".")
        case .cannotSign: "no session was opened: the rows cannot be signed with (cannotSign)"
        }
    }

    private static let passing: Set<String> = [
        "SignatureNonceUsed", "InvalidTimeStamp.Expired", "InternalError", "InternalFailure", "ServiceUnavailable",
    ]
    private static let throttling: Set<String> = [
        "RequestLimitExceeded", "TooManyRequestsException", "SlowDown", "RequestThrottled",
    ]
    private static let policyCodes: Set<String> = [
        "PackedPolicyTooLarge", "MalformedPolicyDocument", "InvalidParameter.PolicyGrammar",
        "InvalidParameter.PolicySize",
    ]
}
