import Bytes
import FoundationEssentials
import GatewayCore
import LibCrypto

/// The secrets of a demo. They are kept in its directory, so the commands printed by the first start also work after
/// later starts.
public struct DemoKeys: Codable, Sendable {
    /// The key that seals secrets in the database: 32 bytes in base64.
    public let masterKey: String
    /// The admin's bearer token.
    public let adminKey: String
    /// The API key of ``DemoWorld/user``.
    let userToken: String
    /// The API key of ``DemoWorld/stranger``.
    let strangerToken: String
    /// The access key id that the gateway signs with at the store.
    let storeAccessKeyID: String
    /// The secret access key that belongs to it.
    let storeSecretAccessKey: String

    /// Reads the keys of a directory, or generates them; only the owner of the file can read it.
    ///
    /// - Throws: `DecodingError` or `CocoaError` if the file cannot be read or written, `CryptoError` if no random
    ///   bytes are available.
    public static func load(from directory: DataDirectory) throws -> DemoKeys {
        let file = URL(filePath: directory.path).appending(path: "keys.json")
        if let data = try? Data(contentsOf: file) {
            return try JSONDecoder().decode(DemoKeys.self, from: data)
        }
        let keys = try DemoKeys.random()
        let fresh = file.appendingPathExtension("new").path
        guard
            FileManager.default.createFile(
                atPath: fresh, contents: try JSONEncoder().encode(keys), attributes: [.posixPermissions: 0o600])
        else { throw CocoaError(.fileWriteUnknown) }
        try FileManager.default.moveItem(atPath: fresh, toPath: file.path)
        return keys
    }

    private static func random() throws -> DemoKeys {
        func token() throws -> String {
            guard let text = APIKeyText(randomBytes: try randomBytes(count: APIKeyText.randomByteCount)) else {
                preconditionFailure("The bytes are as many as a token has.")
            }
            return text.text.reveal()
        }
        return DemoKeys(
            masterKey: Base64.encode(try randomBytes(count: 32)),
            adminKey: Hex.encode(try randomBytes(count: 32)),
            userToken: try token(), strangerToken: try token(),
            storeAccessKeyID: "DEMO" + Hex.encode(try randomBytes(count: 8)).uppercased(),
            storeSecretAccessKey: Hex.encode(try randomBytes(count: 20)))
    }
}
