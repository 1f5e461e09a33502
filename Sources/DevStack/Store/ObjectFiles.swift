import Foundation
import LibCrypto
import Synchronization

/// Objects as files: the bytes in one that never changes, what is known
/// of them in another that is replaced in one step.
///
/// No part of a key is part of a path. The directory belongs to one process.
final class ObjectFiles: Sendable {
    private let root: URL
    /// Held while an object's record is replaced, so that each file of bytes has exactly one record or is removed.
    private let commits = Mutex(())

    /// Takes a directory, made if need be and closed to other users, and
    /// clears what uploads left there that were cut off.
    init(directory: String) throws {
        root = URL(fileURLWithPath: directory, isDirectory: true)
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: root.path)
        try? FileManager.default.removeItem(at: incoming)
        try FileManager.default.createDirectory(at: incoming, withIntermediateDirectories: true)
    }

    private var incoming: URL { root.appending(path: "incoming", directoryHint: .isDirectory) }

    private func bucketDirectory(_ bucket: String) -> URL {
        root.appending(path: "buckets", directoryHint: .isDirectory).appending(
            path: bucket, directoryHint: .isDirectory)
    }

    private func recordFile(_ bucket: String, _ key: String) -> URL {
        let name = DigestAlgorithm.sha256.digest(of: key).hex
        return bucketDirectory(bucket).appending(path: "records/\(name.prefix(2))/\(name).json")
    }

    private func bodyFile(_ bucket: String, _ name: String) -> URL {
        bucketDirectory(bucket).appending(path: "bodies/\(name.prefix(2))/\(name)")
    }

    /// Makes a bucket, if it is not there yet.
    func makeBucket(_ bucket: String) throws {
        try FileManager.default.createDirectory(at: bucketDirectory(bucket), withIntermediateDirectories: true)
    }

    /// Whether a bucket is there; its name must be a valid one.
    func hasBucket(_ bucket: String) -> Bool {
        FileManager.default.fileExists(atPath: bucketDirectory(bucket).path)
    }

    /// What is known of an object; `nil` where there is none.
    func record(_ bucket: String, _ key: String) throws -> ObjectRecord? {
        let file = recordFile(bucket, key)
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        return try JSONDecoder().decode(ObjectRecord.self, from: Data(contentsOf: file))
    }

    /// An object's record, and its bytes opened for reading: they stay readable when the object is replaced meanwhile.
    func open(_ bucket: String, _ key: String) throws -> (record: ObjectRecord, bytes: FileHandle)? {
        // Under the lock, or the file that the record names could be removed before it is opened.
        try commits.withLock { _ in
            guard let record = try record(bucket, key) else { return nil }
            return (record, try FileHandle(forReadingFrom: bodyFile(bucket, record.body)))
        }
    }

    /// Opens a new file for the bytes of an upload.
    func beginUpload() throws -> Upload {
        try Upload(file: incoming.appending(path: UUID().uuidString.lowercased()))
    }

    /// Makes an upload the object of a key, in place of the one that may be there.
    ///
    /// - Parameter onlyIfAbsent: Refuse when there is one.
    /// - Throws: ``StoreError/preconditionFailed(_:)``, or an error of the file system.
    func commit(
        _ upload: Upload, _ bucket: String, _ record: ObjectRecord, onlyIfAbsent: Bool
    ) throws {
        try upload.finish()
        let recordFile = recordFile(bucket, record.key)
        let bodyFile = bodyFile(bucket, record.body)
        for file in [recordFile, bodyFile] {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        }
        let encoded = try JSONEncoder().encode(record)
        try commits.withLock { _ in
            let replaced = try self.record(bucket, record.key)
            guard !onlyIfAbsent || replaced == nil else { throw StoreError.preconditionFailed("If-None-Match") }
            try FileManager.default.moveItem(at: upload.file, to: bodyFile)
            do {
                try encoded.write(to: recordFile, options: .atomic)
            } catch {
                try? FileManager.default.removeItem(at: bodyFile)
                throw error
            }
            // Whoever has it open reads on.
            if let replaced { try? FileManager.default.removeItem(at: self.bodyFile(bucket, replaced.body)) }
        }
    }

    /// The bytes of an object on their way in.
    struct Upload: Sendable {
        let file: URL
        private let handle: FileHandle

        fileprivate init(file: URL) throws {
            guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
                throw CocoaError(.fileWriteUnknown)
            }
            self.file = file
            handle = try FileHandle(forWritingTo: file)
        }

        /// Adds the next bytes.
        func write(_ bytes: [UInt8]) throws {
            try handle.write(contentsOf: bytes)
        }

        fileprivate func finish() throws {
            try handle.synchronize()
            try handle.close()
        }

        /// Removes what was written; does nothing after a commit.
        func discard() {
            try? handle.close()
            try? FileManager.default.removeItem(at: file)
        }
    }
}
