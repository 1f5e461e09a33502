import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Crypto
#endif

/// A file to upload, as it was when the upload began.
struct FileSource: Sendable {
    let url: URL
    let size: Int64
    /// Tells the file, as it was, from others of its path and size.
    let version: String

    /// Looks at a file. A symbolic link stands for the file to which it leads.
    init(_ url: URL) throws {
        self.url = url.resolvingSymlinksInPath()
        (size, version) = try Self.state(of: self.url)
    }

    var whole: Range<Int64> { 0..<size }

    var isUnchanged: Bool {
        guard let (size, version) = try? Self.state(of: url) else { return false }
        return size == self.size && version == self.version
    }

    private static func state(of url: URL) throws -> (size: Int64, version: String) {
        let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
        guard attributes[.type] as? FileAttributeType == .typeRegular else {
            throw SluiceError(.client, .invalidArgument, detail: "\(url.path) is not a regular file.")
        }
        let size = (attributes[.size] as? NSNumber)?.int64Value ?? 0
        let inode = (attributes[.systemFileNumber] as? NSNumber)?.uint64Value ?? 0
        // Programs cannot set the time at which attributes changed. Foundation tells it on Apple's systems only. A URL
        // keeps what it was told, and a new one asks.
        let values = try? URL(fileURLWithPath: url.path).resourceValues(forKeys: [.attributeModificationDateKey])
        let times = [attributes[.modificationDate] as? Date, values?.attributeModificationDate].map { time in
            "\(Int64(((time?.timeIntervalSince1970 ?? 0) * 1_000_000).rounded()))"
        }
        return (size, "\(inode) \(times.joined(separator: " "))")
    }

    /// Reads a range in pieces, and fails if the file has become shorter.
    private func read(_ range: Range<Int64>, until stop: Locked<Bool>, each body: (Data) throws -> Void) throws {
        let handle = try FileHandle(forReadingFrom: url)
        defer { try? handle.close() }
        try handle.seek(toOffset: UInt64(range.lowerBound))
        var left = Int(range.upperBound - range.lowerBound)
        while left > 0 {
            if stop.withLock({ $0 }) { throw CancellationError() }
            try withPool {
                guard let piece = try handle.read(upToCount: min(left, 256 << 10)), !piece.isEmpty else {
                    throw SluiceError(.client, .fileChanged, detail: "The file changed during the upload.")
                }
                left -= piece.count
                try body(piece)
            }
        }
    }

    /// Digests of a range, computed while it is read, and while it is copied if there is a `copy` to make.
    func digests(of range: Range<Int64>, md5: Bool, sha256: Bool, copy: Copy? = nil) async throws -> Digests {
        guard md5 || sha256 || copy != nil else { return Digests() }
        return try await onDisk { stop in
            var md5Digest = md5 ? Insecure.MD5() : nil
            var sha256Digest = sha256 ? SHA256() : nil
            let output = try copy.map { try newFile($0.url, isReadWhileLocked: $0.isReadWhileLocked) }
            defer { try? output?.close() }
            if let copy { try output?.write(contentsOf: copy.before) }
            try read(range, until: stop) { piece in
                md5Digest?.update(data: piece)
                sha256Digest?.update(data: piece)
                try output?.write(contentsOf: piece)
            }
            if let copy { try output?.write(contentsOf: copy.after) }
            return Digests(
                md5: md5Digest.map { Data($0.finalize()) }, sha256: sha256Digest.map { Data($0.finalize()) })
        }
    }
}

extension URL {
    /// The path of a file without symbolic links before its name. It starts at the home directory if the file is below
    /// it, because the home of an app moves when the app is updated.
    var place: String {
        let folder = absoluteURL.deletingLastPathComponent().resolvingSymlinksInPath()
        let path = folder.appendingPathComponent(lastPathComponent).path
        let home = URL(fileURLWithPath: NSHomeDirectory()).resolvingSymlinksInPath().path
        return path.hasPrefix("\(home)/") ? "~\(path.dropFirst(home.count))" : path
    }
}

/// A file to make of a range of another one, and what surrounds the range in it.
struct Copy: Sendable {
    let url: URL
    var before = Data()
    var after = Data()
    /// Whether a locked device may read the file, once its user has unlocked it since it started.
    var isReadWhileLocked = false
}

/// What was computed of a file or a part.
struct Digests: Sendable {
    var md5: Data?
    var sha256: Data?
}

/// The SHA-256 of a text in hexadecimal digits.
func fingerprint(_ text: String) -> String { Data(SHA256.hash(data: Data(text.utf8))).hexadecimal }

extension Data {
    var hexadecimal: String {
        map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}

/// Makes an empty file that only its owner may read.
///
/// - Parameter isReadWhileLocked: whether a locked device may read it, once its user has unlocked it since it started.
func newFile(_ url: URL, isReadWhileLocked: Bool = false) throws -> FileHandle {
    var attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
    #if canImport(Darwin)
        if isReadWhileLocked { attributes[.protectionKey] = FileProtectionType.completeUntilFirstUserAuthentication }
    #endif
    guard FileManager.default.createFile(atPath: url.path, contents: nil, attributes: attributes) else {
        throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path])
    }
    return try FileHandle(forWritingTo: url)
}

/// Does work that waits for a disk on a thread that may wait. The flag it gets says that nobody wants its result.
func onDisk<Result: Sendable>(_ work: @escaping @Sendable (Locked<Bool>) throws -> Result) async throws -> Result {
    let stop = Locked(false)
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Swift.Result { try work(stop) })
            }
        }
    } onCancel: {
        stop.withLock { $0 = true }
    }
}

/// Lets go of what Apple's Foundation hands out, at once and not at the end of the thread's work.
private func withPool<Result>(_ body: () throws -> Result) rethrows -> Result {
    #if canImport(ObjectiveC)
        return try autoreleasepool(invoking: body)
    #else
        return try body()
    #endif
}
