import FoundationEssentials
import LibCrypto
import LocalFiles
import Synchronization

/// Stores objects as files. One file holds the bytes and never changes; another holds the record, which is replaced in
/// one step.
///
/// No part of a key is part of a path. Only one process may use the directory.
final class ObjectFiles: Sendable {
    private let root: URL
    /// Held while a record is replaced or removed, so that each file of bytes has exactly one record or is removed.
    let commits = Mutex(())

    /// Opens a directory. It is created if needed, closed to other users, and cleared of interrupted uploads.
    init(directory: String) throws {
        root = URL(fileURLWithPath: directory, isDirectory: true)
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: root.path)
        try? FileManager.default.removeItem(at: incoming)
        try FileManager.default.createDirectory(at: incoming, withIntermediateDirectories: true)
    }

    private var incoming: URL { root.appending(path: "incoming", directoryHint: .isDirectory) }

    func bucketDirectory(_ bucket: String) -> URL {
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

    /// Creates a bucket, if it does not exist.
    func makeBucket(_ bucket: String) throws {
        try FileManager.default.createDirectory(at: bucketDirectory(bucket), withIntermediateDirectories: true)
    }

    /// Returns the buckets in the order of their names, and when they were made, in seconds since 1970.
    func buckets() throws -> [(name: String, createdAt: Int64)] {
        let directory = root.appending(path: "buckets", directoryHint: .isDirectory)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return try names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map { name in
            let attributes = try FileManager.default.attributesOfItem(atPath: directory.appending(path: name).path)
            let date = attributes[.creationDate] as? Date ?? attributes[.modificationDate] as? Date
            return (name, Int64(date?.timeIntervalSince1970 ?? 0))
        }
    }

    /// Returns whether a bucket exists; the name must be valid.
    func hasBucket(_ bucket: String) -> Bool {
        FileManager.default.fileExists(atPath: bucketDirectory(bucket).path)
    }

    /// Returns the record of an object; `nil` if there is none.
    func record(_ bucket: String, _ key: String) throws -> ObjectRecord? {
        let file = recordFile(bucket, key)
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        return try JSONDecoder().decode(ObjectRecord.self, from: Data(contentsOf: file))
    }

    /// Returns an object's record, and its bytes opened for reading. They remain readable if the object is replaced
    /// meanwhile.
    func open(_ bucket: String, _ key: String) throws -> (record: ObjectRecord, bytes: OpenFile)? {
        // The lock prevents removal of the file that the record names before it is opened.
        try commits.withLock { _ in
            guard let record = try record(bucket, key) else { return nil }
            return (record, try OpenFile(bodyFile(bucket, record.body).path, for: .reading))
        }
    }

    /// Opens a new file for the bytes of an upload.
    func beginUpload() throws -> Upload {
        try Upload(file: incoming.appending(path: UUID().uuidString.lowercased()))
    }

    /// Makes an upload the object of a key, replacing an existing object.
    ///
    /// - Parameters:
    ///   - onlyIfAbsent: Whether to refuse if an object exists.
    ///   - closing: The upload in parts that the object ends. Its directory is removed in the same step.
    /// - Throws: ``StoreError``, or an error of the file system.
    func commit(
        _ upload: Upload, _ bucket: String, _ record: ObjectRecord, onlyIfAbsent: Bool, closing uploadID: String? = nil
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
            if let uploadID, try self.upload(uploadID, in: bucket) == nil { throw StoreError.noSuchUpload }
            let replaced = try self.record(bucket, record.key)
            guard !onlyIfAbsent || replaced == nil else { throw StoreError.preconditionFailed("If-None-Match") }
            try FileManager.default.moveItem(at: upload.file, to: bodyFile)
            do {
                try encoded.write(to: recordFile, options: .atomic)
            } catch {
                try? FileManager.default.removeItem(at: bodyFile)
                throw error
            }
            // A reader that has the old file open can continue reading.
            if let replaced { try? FileManager.default.removeItem(at: self.bodyFile(bucket, replaced.body)) }
            if let uploadID { try? FileManager.default.removeItem(at: uploadDirectory(uploadID, in: bucket)) }
        }
    }

    /// Removes an object; returns whether there was one.
    func remove(_ bucket: String, _ key: String) throws -> Bool {
        try commits.withLock { _ in
            guard let record = try record(bucket, key) else { return false }
            // The record first: after a crash in between, bytes without a record remain, which nobody can read.
            try FileManager.default.removeItem(at: recordFile(bucket, key))
            try? FileManager.default.removeItem(at: bodyFile(bucket, record.body))
            return true
        }
    }

    /// Returns the records of a bucket whose keys begin with a prefix, ordered by the bytes of their keys.
    func records(_ bucket: String, prefix: String) throws -> [ObjectRecord] {
        let directory = bucketDirectory(bucket).appending(path: "records", directoryHint: .isDirectory)
        var records: [ObjectRecord] = []
        for path in (try? FileManager.default.subpathsOfDirectory(atPath: directory.path)) ?? []
        where path.hasSuffix(".json") {
            // An object that is deleted meanwhile is no longer listed.
            guard let data = try? Data(contentsOf: directory.appending(path: path)) else { continue }
            let record = try JSONDecoder().decode(ObjectRecord.self, from: data)
            if record.key.utf8.starts(with: prefix.utf8) { records.append(record) }
        }
        return records.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    }

    /// The bytes of an object that is being uploaded.
    struct Upload: Sendable {
        let file: URL
        private let content: OpenFile

        fileprivate init(file: URL) throws {
            self.file = file
            content = try OpenFile(file.path, for: .creating)
        }

        /// Appends the next bytes.
        func write(_ bytes: [UInt8]) throws {
            try content.write(bytes)
        }

        func finish() throws {
            try content.synchronize()
        }

        /// Removes the written bytes; does nothing after a commit.
        func discard() {
            try? FileManager.default.removeItem(at: file)
        }
    }
}
