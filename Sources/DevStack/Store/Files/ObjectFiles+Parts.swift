import FoundationEssentials
import LocalFiles
import Synchronization

/// An upload in parts, as it was started.
struct PartsUpload: Sendable, Codable {
    let id: String
    let key: String
    let startedAt: Int64
    let fields: [ObjectRecord.Field]
}

/// A part that was received.
struct PartRecord: Sendable, Codable {
    let number: Int
    /// Name of the file that contains the bytes.
    let body: String
    let byteCount: Int64
    /// MD5 of the bytes, in hexadecimal.
    let md5: String
    let modifiedAt: Int64
}

/// Uploads in parts: one directory for each, with the record of the upload, and a record and a file of bytes for each
/// part. The directory is removed when the upload is completed or aborted.
extension ObjectFiles {
    /// The directory of an upload. The identifier must be one that ``isUploadID(_:)`` accepts.
    func uploadDirectory(_ id: String, in bucket: String) -> URL {
        bucketDirectory(bucket).appending(path: "uploads/\(id)", directoryHint: .isDirectory)
    }

    /// Whether a text can be an identifier, and therefore the name of a directory.
    private static func isUploadID(_ text: String) -> Bool {
        text.utf8.count == 32 && text.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
    }

    /// Starts an upload.
    func startUpload(_ upload: PartsUpload, in bucket: String) throws {
        let directory = uploadDirectory(upload.id, in: bucket)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try JSONEncoder().encode(upload).write(to: directory.appending(path: "upload.json"), options: .atomic)
    }

    /// Returns an upload; `nil` if there is none.
    func upload(_ id: String, in bucket: String) throws -> PartsUpload? {
        guard Self.isUploadID(id) else { return nil }
        let file = uploadDirectory(id, in: bucket).appending(path: "upload.json")
        guard let data = try? Data(contentsOf: file) else { return nil }
        return try JSONDecoder().decode(PartsUpload.self, from: data)
    }

    /// Returns the uploads of a bucket whose keys begin with a prefix, ordered by key and identifier.
    func uploads(in bucket: String, prefix: String) throws -> [PartsUpload] {
        let directory = bucketDirectory(bucket).appending(path: "uploads", directoryHint: .isDirectory)
        let ids = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return try ids.compactMap { try upload($0, in: bucket) }
            .filter { $0.key.utf8.starts(with: prefix.utf8) }
            .sorted { ($0.key, $0.id) < ($1.key, $1.id) }
    }

    /// Keeps a part, replacing an earlier one with its number.
    func commit(_ received: Upload, _ part: PartRecord, of id: String, in bucket: String) throws {
        try received.finish()
        let directory = uploadDirectory(id, in: bucket)
        let encoded = try JSONEncoder().encode(part)
        try commits.withLock { _ in
            guard try upload(id, in: bucket) != nil else { throw StoreError.noSuchUpload }
            let replaced = try self.part(part.number, of: id, in: bucket)
            let body = directory.appending(path: part.body)
            try FileManager.default.moveItem(at: received.file, to: body)
            do {
                try encoded.write(to: directory.appending(path: "\(part.number).json"), options: .atomic)
            } catch {
                try? FileManager.default.removeItem(at: body)
                throw error
            }
            if let replaced { try? FileManager.default.removeItem(at: directory.appending(path: replaced.body)) }
        }
    }

    /// Returns the parts of an upload, in the order of their numbers.
    func parts(of id: String, in bucket: String) throws -> [PartRecord] {
        let directory = uploadDirectory(id, in: bucket)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return try names.compactMap { name in
            guard name.hasSuffix(".json"), let number = Int(name.dropLast(5)) else { return nil }
            return try part(number, of: id, in: bucket)
        }.sorted { $0.number < $1.number }
    }

    /// Opens the bytes of a part.
    func open(_ part: PartRecord, of id: String, in bucket: String) throws -> OpenFile {
        try OpenFile(uploadDirectory(id, in: bucket).appending(path: part.body).path, for: .reading)
    }

    /// Removes an upload with its parts; returns whether there was one.
    func abortUpload(_ id: String, in bucket: String) throws -> Bool {
        try commits.withLock { _ in
            guard try upload(id, in: bucket) != nil else { return false }
            let directory = uploadDirectory(id, in: bucket)
            // Without its record the upload no longer exists, even if the parts remain after a crash.
            try FileManager.default.removeItem(at: directory.appending(path: "upload.json"))
            try FileManager.default.removeItem(at: directory)
            return true
        }
    }

    private func part(_ number: Int, of id: String, in bucket: String) throws -> PartRecord? {
        let file = uploadDirectory(id, in: bucket).appending(path: "\(number).json")
        guard let data = try? Data(contentsOf: file) else { return nil }
        return try JSONDecoder().decode(PartRecord.self, from: data)
    }
}
