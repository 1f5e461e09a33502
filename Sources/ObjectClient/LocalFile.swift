import Foundation
import LibCrypto

/// A file to upload, as it was when the upload began.
public struct LocalFile: Sendable, Equatable {
    /// Absolute path.
    public let path: String
    /// Length in bytes.
    public let size: Int64
    /// Time of the last change, in microseconds since 1970.
    let modifiedAt: Int64

    /// Looks at a file.
    ///
    /// - Throws: ``ClientFailure/file(_:)`` for anything but a regular file.
    public init(_ path: String) throws(ClientFailure) {
        self.path = URL(fileURLWithPath: path).standardizedFileURL.path
        let attributes = try? FileManager.default.attributesOfItem(
            atPath: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)
        guard let attributes, let size = (attributes[.size] as? NSNumber)?.int64Value,
            let time = attributes[.modificationDate] as? Date
        else { throw .file("'\(path)' cannot be read.") }
        switch attributes[.type] as? FileAttributeType {
        case .typeRegular?: break
        case .typeDirectory?: throw .file("'\(path)' is a directory. Use '--recursive' to upload what is in it.")
        default: throw .file("'\(path)' is not a regular file. To upload what a program writes, use '-'.")
        }
        self.size = size
        modifiedAt = Int64((time.timeIntervalSince1970 * 1_000_000).rounded())
    }

    /// Checks that the file has not changed since.
    func checkUnchanged() throws(ClientFailure) {
        guard let now = try? LocalFile(path), now == self else {
            throw .file("'\(path)' changed while it was uploaded. Upload it again.")
        }
    }

    /// Opens the file at a place.
    func open(at offset: Int64) throws(ClientFailure) -> FileHandle {
        guard let handle = FileHandle(forReadingAtPath: path) else { throw .file("'\(path)' cannot be read.") }
        do { try handle.seek(toOffset: UInt64(offset)) } catch { throw .file("'\(path)' cannot be read.") }
        return handle
    }

    /// Digests of some bytes of the file, which are read in pieces.
    func digests(of range: Range<Int64>, stop: StopFlag) async throws(ClientFailure) -> ContentDigests {
        let result = await blocking(until: stop) { () -> Result<ContentDigests, ClientFailure> in
            Result { () throws(ClientFailure) in try read(range, stop) }
        }
        guard let result else { throw .stopped("Interrupted.") }
        return try result.get()
    }

    private func read(_ range: Range<Int64>, _ stop: StopFlag) throws(ClientFailure) -> ContentDigests {
        let handle = try open(at: range.lowerBound)
        defer { try? handle.close() }
        var (md5, sha256) = (IncrementalDigest(.md5), IncrementalDigest(.sha256))
        var rest = Int64(range.count)
        while rest > 0 {
            guard !stop.isSet else { throw .stopped("Interrupted.") }
            guard let piece = try? handle.read(upToCount: Int(min(rest, 1 << 20))), !piece.isEmpty else {
                throw .file("'\(path)' changed while it was read.")
            }
            let bytes = Array(piece)
            md5.update(bytes)
            sha256.update(bytes)
            rest -= Int64(bytes.count)
        }
        return ContentDigests(md5: md5.finalize(), sha256: sha256.finalize())
    }
}

/// What identifies content.
struct ContentDigests: Sendable {
    let md5: Digest
    let sha256: Digest
}
