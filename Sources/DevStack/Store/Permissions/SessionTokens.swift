import Bytes
import FoundationEssentials
import LibCrypto

/// A session that the token service opened.
struct StoreSession: Sendable, Codable, Equatable {
    let accessKeyID: String
    /// The end, in seconds since 1970.
    let end: Int64
    let language: PolicyLanguage
    /// The policy that narrows the role; `nil` if the session has all that the role permits.
    let policy: String?

    /// Whether the session permits an operation.
    ///
    /// - Parameter properties: What conditions compare, as far as the request has it.
    func permits(
        _ operation: StoreOperation, on place: StorePlace, properties: [RequestProperty: String]
    ) -> Bool {
        guard let policy else { return true }
        guard let read = try? SessionPolicy(policy, language: language) else { return false }
        let action = language == .aws ? operation.permission.aws : operation.permission.alibaba
        return read.permits(action, on: language.resource(place), properties: properties)
    }
}

/// Makes and reads security tokens. A token holds its session and an authentication code, so that sessions survive a
/// restart and take no space.
struct SessionTokens: Sendable {
    private let key: HMACKey

    /// Derives the key of the tokens from the store's secret.
    init(secret: String) {
        let root = HMACKey(Array(secret.utf8), algorithm: .sha256)
        key = HMACKey(root.authenticationCode(for: Array("sluice dev session tokens".utf8)).bytes, algorithm: .sha256)
    }

    /// Returns the token of a session.
    func token(of session: StoreSession) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let payload = Hex.encode([UInt8](try encoder.encode(session)))
        return payload + "." + code("token", payload)
    }

    /// Reads a token; `nil` unless this store made it.
    func session(of token: String) -> StoreSession? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, constantTimeEqual(Array(code("token", parts[0]).utf8), Array(parts[1].utf8)),
            let bytes = Hex.decode(parts[0])
        else { return nil }
        return try? JSONDecoder().decode(StoreSession.self, from: Data(bytes))
    }

    /// Returns the secret access key that belongs to a token.
    func secret(of token: String) -> String {
        String(code("secret", token).prefix(40))
    }

    private func code(_ use: String, _ text: String) -> String {
        key.authenticationCode(for: Array("\(use) \(text)".utf8)).hex
    }
}
