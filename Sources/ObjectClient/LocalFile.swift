import LibCrypto
import LocalFiles

/// A file to upload, as it was when the upload began.
public struct LocalFile: Sendable, Equatable {
    /// The name by which it is opened.
    public let path: String
    /// Its absolute name. The directory is named without symbolic links.
    let place: String
    /// Length in bytes.
    public let size: Int64
    /// Identifies the content, as far as that is possible without reading it. Programs can set the time of modification
    /// back, but not the time of change.
    let version: String

    /// Looks at a file.
    ///
    /// - Throws: ``ClientFailure/file(_:)`` for anything but a regular file.
    public init(_ path: String) throws(ClientFailure) {
        self.path = path
        place = FileName.located(path)
        guard let status = try? FileStatus(path) else { throw .file("'\(path)' cannot be read.") }
        switch status.kind {
        case .regular: break
        case .directory: throw .file("'\(path)' is a directory. Use '--recursive' to upload what is in it.")
        case .other: throw .file("'\(path)' is not a regular file. To upload what a program writes, use '-'.")
        }
        size = status.size
        version = "\(status.inode) \(status.modifiedAt) \(status.changedAt)"
    }

    /// Checks that this process may read the file, without opening it.
    public func checkReadable() throws(ClientFailure) {
        if let flaw = FileStatus.readingFlaw(of: path) { throw .file("'\(path)' \(flaw).") }
    }

    /// Checks that the file has not changed since.
    func checkUnchanged() throws(ClientFailure) {
        guard let now = try? LocalFile(path), now == self else {
            throw .file("'\(path)' changed while it was uploaded. Upload it again.")
        }
    }

    /// Opens the file at a place.
    func open(at offset: Int64) throws(ClientFailure) -> OpenFile {
        do throws(FileError) {
            let file = try OpenFile(path, for: .reading)
            try file.seek(to: offset)
            return file
        } catch {
            throw .file("'\(path)' cannot be read.")
        }
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
        let file = try open(at: range.lowerBound)
        var (md5, sha256) = (IncrementalDigest(.md5), IncrementalDigest(.sha256))
        var rest = Int64(range.count)
        while rest > 0 {
            guard !stop.isSet else { throw .stopped("Interrupted.") }
            guard let bytes = try? file.read(atMost: Int(min(rest, 1 << 20))), !bytes.isEmpty else {
                throw .file("'\(path)' changed while it was read.")
            }
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
