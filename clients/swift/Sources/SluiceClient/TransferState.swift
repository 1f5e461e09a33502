public import Foundation

/// How far an interrupted transfer is: a small value that can be encoded, without links or tokens.
public struct TransferState: Codable, Sendable, Hashable {
    /// Of an upload in parts: its identifier at the gateway.
    public var uploadID: String?
    /// Of an upload: the key, which the gateway may have given.
    var key: String?
    /// Length of parts in bytes.
    var partSize: Int64?
    /// Entity tags of the parts that have arrived, by number.
    var tags: [Int: String]?
    /// Of an upload in parts: when its completion began, by the device's clock.
    var completing: Date?
    /// Of a download: gateway, bucket, key and version of the object of which the file has the beginning.
    var object: [String]?
    /// Of a download: the entity tag of this object, as the store wrote it.
    var etag: String?
}

/// Where the state of interrupted transfers is kept. A store that fails costs the ability to go on, and not the
/// transfer.
public protocol StateStore: Sendable {
    /// The state under a name, or nil.
    func state(named name: String) async throws -> TransferState?
    /// Keeps a state under a name, or forgets it if it is nil. A name has 64 hexadecimal digits.
    func setState(_ state: TransferState?, named name: String) async throws
}

/// Keeps states until the program ends.
public final class MemoryStateStore: StateStore {
    private let states = Locked<[String: TransferState]>([:])

    /// An empty store.
    public init() {}

    /// The state under a name, or nil.
    public func state(named name: String) -> TransferState? {
        states.withLock { $0[name] }
    }

    /// Keeps a state under a name, or forgets it if it is nil.
    public func setState(_ state: TransferState?, named name: String) {
        states.withLock { $0[name] = state }
    }
}

/// Keeps states in files of a directory, so that transfers go on after the app has been terminated.
public struct DirectoryStateStore: StateStore {
    private let directory: URL

    /// Keeps states in this directory, which is made if it does not exist. Use one that the system does not clear, such
    /// as a directory below Application Support.
    public init(_ directory: URL) {
        self.directory = directory
    }

    /// The state under a name, or nil.
    public func state(named name: String) throws -> TransferState? {
        guard let data = try? Data(contentsOf: file(name)) else { return nil }
        return try JSONDecoder().decode(TransferState.self, from: data)
    }

    /// Keeps a state under a name, or forgets it if it is nil.
    public func setState(_ state: TransferState?, named name: String) throws {
        guard let state else {
            try? FileManager.default.removeItem(at: file(name))
            return
        }
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try JSONEncoder().encode(state).write(to: file(name), options: .atomic)
    }

    private func file(_ name: String) -> URL { directory.appendingPathComponent("\(name).json") }
}

extension Sluice {
    func state(_ name: String) async -> TransferState? {
        // What cannot be read is not there.
        try? await states.state(named: name)
    }

    /// Keeps nothing without a name.
    func keep(_ state: TransferState?, _ name: String?) async {
        guard let name else { return }
        try? await states.setState(state, named: name)
    }
}
