import Bytes
import FoundationEssentials
import LibCrypto
import Signing

/// A verified call of AssumeRole, checked as the services check it.
struct AssumeRoleCall: Sendable {
    let language: PolicyLanguage
    let roleARN: String
    let sessionName: String
    let duration: Int
    let policy: String?

    /// The roles that the demo's credential may assume.
    static let roles: [PolicyLanguage: String] = [
        .aws: "arn:aws:iam::100000000001:role/sluice-demo", .alibaba: "acs:ram::1000000000000001:role/sluice-demo",
    ]

    /// What is wrong with a call. Each service has codes of its own for these.
    enum Refusal: Error, Sendable {
        case unknownRole
        case invalid(parameter: String, reason: String)
        case malformedPolicy(String)
    }

    /// Reads the parameters of a call.
    init(_ parameters: [String: String], _ language: PolicyLanguage) throws(Refusal) {
        self.language = language
        guard let role = parameters["RoleArn"], let name = parameters["RoleSessionName"] else {
            throw .invalid(
                parameter: parameters["RoleArn"] == nil ? "RoleArn" : "RoleSessionName",
                reason: "The parameter is required.")
        }
        guard role == Self.roles[language] else { throw .unknownRole }
        let allowed = language == .aws ? "_+=,.@-" : ".@-_"
        guard 2...64 ~= name.utf8.count,
            name.utf8.allSatisfy({ byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: allowed.utf8.contains(byte)
                }
            })
        else { throw .invalid(parameter: "RoleSessionName", reason: "The name has the wrong length or characters.") }
        guard let duration = Int(parameters["DurationSeconds"] ?? "3600"), 900...43_200 ~= duration else {
            throw .invalid(parameter: "DurationSeconds", reason: "The duration must be 900 to 43200 seconds.")
        }
        if let policy = parameters["Policy"] {
            guard policy.count <= SessionPolicy.maxCharacters else { throw .malformedPolicy("The policy is too long.") }
            do {
                _ = try SessionPolicy(policy, language: language)
            } catch {
                throw .malformedPolicy(error.reason)
            }
        }
        roleARN = role
        sessionName = name
        self.duration = duration
        policy = parameters["Policy"]
    }

    /// Opens the session.
    func open(_ tokens: SessionTokens, at now: SigningInstant) throws -> OpenedSession {
        let random = Hex.encode(try randomBytes(count: 8)).uppercased()
        let session = StoreSession(
            accessKeyID: (language == .aws ? "ASIADEMO" : "STS.DEMO") + random,
            end: now.epochSeconds + Int64(duration), language: language, policy: policy)
        let token = try tokens.token(of: session)
        return OpenedSession(session: session, token: token, secret: tokens.secret(of: token))
    }
}

/// The credentials of a session.
struct OpenedSession: Sendable {
    let session: StoreSession
    let token: String
    let secret: String

    /// The end, `YYYY-MM-DDTHH:MM:SSZ`.
    var expiration: String { SigningInstant(clampingEpochSeconds: session.end).extended }
}
