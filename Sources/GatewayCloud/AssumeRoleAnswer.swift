import Bytes
import FoundationEssentials
import GatewayCore
import StrictXML

/// The answer of a security token service: credentials, or the code of a refusal.
struct AssumeRoleAnswer {
    /// The credentials, if the answer contains complete ones.
    let credential: SessionCredential?
    /// The code of a refusal, if it is fit for a log.
    let code: String?

    /// Reads the answer of Alibaba Cloud.
    init(json bytes: [UInt8]) {
        struct Answer: Decodable {
            struct Credentials: Decodable {
                enum CodingKeys: String, CodingKey {
                    case id = "AccessKeyId"
                    case secret = "AccessKeySecret"
                    case token = "SecurityToken"
                    case expiration = "Expiration"
                }

                let id: String
                let secret: String
                let token: String
                let expiration: String
            }

            enum CodingKeys: String, CodingKey {
                case credentials = "Credentials"
                case code = "Code"
            }

            let credentials: Credentials?
            let code: String?
        }
        let answer = try? JSONDecoder().decode(Answer.self, from: Data(bytes))
        code = answer?.code.flatMap(Self.loggable)
        credential = answer?.credentials.flatMap {
            Self.credential($0.id, $0.secret, $0.token, $0.expiration)
        }
    }

    /// Reads the answer of AWS and compatible services.
    init(xml bytes: [UInt8]) {
        let root = XMLElement.read(bytes)
        func child(_ name: String, of element: XMLElement?) -> XMLElement? {
            element?.children.first { $0.name == name }
        }
        let error = root?.name == "Error" ? root : child("Error", of: root)
        code = error?.text("Code").flatMap(Self.loggable)
        let found = child("Credentials", of: child("AssumeRoleResult", of: root))
        credential = found.flatMap { element in
            guard root?.name == "AssumeRoleResponse", let id = element.text("AccessKeyId"),
                let secret = element.text("SecretAccessKey"), let token = element.text("SessionToken"),
                let end = element.text("Expiration")
            else { return nil }
            return Self.credential(id, secret, token, end)
        }
    }

    private static func credential(
        _ id: String, _ secret: String, _ token: String, _ expiration: String
    ) -> SessionCredential? {
        guard id.consists(of: .visible, count: 1...128), secret.consists(of: .visible, count: 1...1024),
            token.consists(of: .visible, count: 1...16_384), let end = instant(expiration)
        else { return nil }
        return SessionCredential(
            accessKeyID: id, secretAccessKey: Secret(secret), sessionToken: Secret(token), expiresAt: end)
    }

    /// Reads a time in UTC. A fraction of a second is ignored.
    private static func instant(_ text: String) -> Date? {
        let whole = text.prefix(19)
        let rest = text.dropFirst(19)
        guard whole.utf8.count == 19, rest.last == "Z", rest.count == 1 || rest.first == ".",
            rest.dropFirst().dropLast().allSatisfy({ "0"..."9" ~= $0 })
        else { return nil }
        return try? Date("\(whole)Z", strategy: .iso8601)
    }

    private static func loggable(_ code: String) -> String? {
        code.consists(of: .alphanumeric.union("._"), count: 1...64) ? code : nil
    }
}
