import Foundation
import SluiceClient

#if canImport(Security)
    import Security
#endif

/// Where the app uploads, and as whom.
struct Account: Codable, Sendable, Hashable {
    var gateway: URL
    var bucket: String
    /// Where the user may upload; empty, or with `/` at its end.
    var prefix: String
    var key: String

    private enum CodingKeys: CodingKey {
        case gateway, bucket, prefix
    }

    init(gateway: URL, bucket: String, prefix: String, key: String) {
        self.gateway = gateway
        self.bucket = bucket
        self.prefix = prefix
        self.key = key
    }

    /// Without the key, which is a secret.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        gateway = try container.decode(URL.self, forKey: .gateway)
        bucket = try container.decode(String.self, forKey: .bucket)
        prefix = try container.decode(String.self, forKey: .prefix)
        key = Keychain.key ?? ""
    }

    /// The account that was kept, if there is one.
    static func kept(_ defaults: UserDefaults = .standard) -> Account? {
        guard let data = defaults.data(forKey: "account") else { return nil }
        return try? JSONDecoder().decode(Account.self, from: data)
    }

    func keep(_ defaults: UserDefaults = .standard) throws {
        defaults.set(try JSONEncoder().encode(self), forKey: "account")
        Keychain.key = key
    }

    /// A client that goes on with uploads of earlier launches.
    func client() -> Sluice {
        Sluice(url: gateway, states: DirectoryStateStore(Self.directory("States")), token: key)
    }

    /// A directory of the app that the system does not clear.
    static func directory(_ name: String) -> URL {
        let all = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
        return (all.first ?? FileManager.default.temporaryDirectory).appending(path: "Uploads/\(name)")
    }
}

/// The key of the account in the keychain.
private enum Keychain {
    #if canImport(Security)
        private static var item: [CFString: Any] {
            [kSecClass: kSecClassGenericPassword, kSecAttrService: "sluice", kSecAttrAccount: "key"]
        }

        static var key: String? {
            get {
                var found: CFTypeRef?
                let query = item.merging([kSecReturnData: true]) { $1 } as CFDictionary
                guard SecItemCopyMatching(query, &found) == errSecSuccess, let data = found as? Data else { return nil }
                return String(decoding: data, as: UTF8.self)
            }
            set {
                SecItemDelete(item as CFDictionary)
                guard let newValue else { return }
                let whole = item.merging([
                    kSecValueData: Data(newValue.utf8), kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock,
                ]) { $1 }
                SecItemAdd(whole as CFDictionary, nil)
            }
        }
    #else
        // Other systems have none; there the user signs in at each launch.
        static var key: String? {
            get { nil }
            set {}
        }
    #endif
}
