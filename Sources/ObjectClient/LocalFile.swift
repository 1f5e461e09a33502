import LibCrypto
package import LocalFiles

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
    /// Identifies the file, whatever its content.
    public let identity: FileIdentity

    /// Looks at a file.
    ///
    /// - Throws: ``ClientFailure/file(_:)`` for anything but a regular file.
    public init(_ path: String) throws(ClientFailure) {
        self.path = path
        place = FileName.located(path)
        let status: FileStatus
        do throws(FileError) { status = try FileStatus(path) } catch {
            throw .file("'\(path)' \(FileStatus.readingFlaw(of: path) ?? "cannot be read: \(error)").")
        }
        switch status.kind {
        case .regular: break
        case .directory: throw .file("'\(path)' is a directory. Use '--recursive' to upload what is in it.")
        case .other: throw .file("'\(path)' is not a regular file. To upload what a program writes, use '-'.")
        }
        size = status.size
        version = Self.version(of: status)
        identity = FileIdentity(status)
    }

    private static func version(of status: FileStatus) -> String {
        "\(status.inode) \(status.modifiedAt) \(status.changedAt)"
    }

    /// Checks that this process may read the file, without opening it.
    public func checkReadable() throws(ClientFailure) {
        if let flaw = FileStatus.readingFlaw(of: path) { throw .file("'\(path)' \(flaw).") }
    }

    /// Checks that the file has not changed since.
    func checkUnchanged() throws(ClientFailure) {
        guard let now = try? LocalFile(path), now == self else { throw changed }
    }

    /// Whether another file or another content has the name now. A file that cannot be looked at may still be the same.
    var isReplaced: Bool { (try? LocalFile(path)).map { $0 != self } ?? false }

    /// Opens the file at a place. What is read is what was looked at, whatever has the name by now.
    func open(at offset: Int64) throws(ClientFailure) -> OpenFile {
        let file: OpenFile
        let status: FileStatus
        do throws(FileError) {
            file = try OpenFile(path, for: .reading)
            status = try file.status
            try file.seek(to: offset)
        } catch {
            throw .file("'\(path)' cannot be read: \(error).")
        }
        guard Self.version(of: status) == version, FileIdentity(status) == identity else { throw changed }
        return file
    }

    private var changed: ClientFailure { .file("'\(path)' changed while it was uploaded. Upload it again.") }

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

/// What tells files apart while they exist.
public struct FileIdentity: Sendable, Equatable {
    private let device: UInt64
    private let inode: UInt64

    /// Takes the identity of a file that was looked at.
    package init(_ status: FileStatus) {
        device = status.device
        inode = status.inode
    }
}

/// What identifies content.
struct ContentDigests: Sendable {
    let md5: Digest
    let sha256: Digest
}
