import FoundationEssentials
import LibCrypto

/// What a transfer that was interrupted needs to go on: small JSON files in a directory that only its owner can read.
/// They hold no link and no key.
public struct TransferMemory: Sendable {
    /// The directory of the files.
    let directory: String

    /// Keeps the files in a directory, which is made when it is needed.
    public init(directory: String) { self.directory = directory }

    /// The directory for a user: below `XDG_STATE_HOME`, or `~/.local/state`. As for a shell, `~` is `HOME`; the user's
    /// entry in the password file counts where that is not set.
    public static func standard(environment: [String: String]) -> TransferMemory {
        // The XDG specification requires that relative paths be ignored.
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") {
            return TransferMemory(directory: "\(state)/sluice/transfers")
        }
        let home =
            environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
            ?? FileManager.default.homeDirectoryForCurrentUser.path
        return TransferMemory(directory: "\(home)/.local/state/sluice/transfers")
    }

    /// Reads what was kept under a name; `nil` if there is nothing that can be read.
    func read<Kept: Decodable>(_ name: String, as type: Kept.Type) -> Kept? {
        guard let data = FileManager.default.contents(atPath: path(name)) else { return nil }
        return try? JSONDecoder().decode(Kept.self, from: data)
    }

    /// Keeps a value under a name. A value that cannot be kept costs nothing but the possibility to go on: before
    /// somebody is promised that, ``read(_:as:)`` tells what a later run will find.
    func keep(_ name: String, _ value: some Encodable) {
        guard let data = try? JSONEncoder().encode(value) else { return }
        let files = FileManager.default
        try? files.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try? data.write(to: URL(fileURLWithPath: path(name)), options: .atomic)
    }

    /// Forgets what was kept under a name.
    func forget(_ name: String) { try? FileManager.default.removeItem(atPath: path(name)) }

    /// A name for what these texts describe, which does not reveal them.
    static func name(_ parts: String...) -> String {
        DigestAlgorithm.sha256.digest(of: parts.joined(separator: "\n")).hex
    }

    private func path(_ name: String) -> String { "\(directory)/\(name).json" }
}

/// An upload in parts that has begun.
struct BegunUpload: Codable {
    var id: String
    /// Identifies what is uploaded: the content of the file, its type and metadata.
    var content: String
    var partSize: Int64
    /// Entity tags of the parts that arrived, by part number. The store's own list is asked too.
    var tags: [Int: String]
    /// When the gateway was first asked to complete it.
    var completing: Date?

    /// Whether its completion was asked for in the hour before this time.
    func beganCompleting(inHourBefore now: Date) -> Bool {
        completing.map { (0..<3600).contains(now.timeIntervalSince($0)) } ?? false
    }
}

/// A download that has begun.
struct BegunDownload: Codable {
    /// Identifies the object and its gateway.
    var source: String
    /// Identifies the file that holds the beginning.
    var inode: UInt64
    /// The entity tag of the object, with its quotes as the store sent it.
    var etag: String
}
