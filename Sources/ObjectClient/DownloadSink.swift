import Bytes
import LibCrypto
import LibCurl
import LocalFiles
import Synchronization

/// Where the bytes of a download go. It counts and digests them, so that a later attempt can go on.
final class DownloadSink: Sendable {
    private struct State {
        var bytes: Int64 = 0
        var total: Int64?
        var etag: String?
        /// Whether a later attempt can ask for what is missing.
        var isResumable = true
        var contentType: String?
        var md5 = IncrementalDigest(.md5)
        var sha256 = IncrementalDigest(.sha256)
        /// What the store says about the content.
        var expected = ExpectedContent()
        /// Whether the head of the running attempt has been read.
        var hasBegun = false
        var failure: ClientFailure?
        /// Whether the running attempt brings the end of another object than the one whose beginning was there.
        var isOutdated = false
    }

    private let file: OpenFile
    /// Whether what was written can be taken back.
    private let startsOver: Bool
    private let meter: TransferMeter
    private let state = Mutex(State())

    init(_ file: OpenFile, startsOver: Bool, meter: TransferMeter) {
        self.file = file
        self.startsOver = startsOver
        self.meter = meter
    }

    /// Number of bytes that are there.
    var bytes: Int64 { state.withLock { $0.bytes } }
    /// Whether another attempt can bring what is missing: by asking for it, or by starting over.
    var canGoOn: Bool { startsOver || bytes == 0 || !fields.isEmpty }
    /// Why the running attempt gave up.
    var failure: ClientFailure? { state.withLock { $0.failure } }
    /// Whether all bytes are there, as far as the store told their number.
    var isComplete: Bool { state.withLock { $0.total == nil || $0.total == $0.bytes } }

    /// Takes up the bytes that an earlier run left in the file, except for the last one: of an object that is there
    /// whole, the store has something to answer, and tells the digests.
    func takeUp(etag: String, stop: StopFlag) async throws(ClientFailure) {
        let file = file
        let taken = await blocking(until: stop) { () -> Result<State, ClientFailure> in
            Result { () throws(ClientFailure) in try Self.beginning(of: file, stop) }
        }
        guard let taken else { throw .stopped("Interrupted.") }
        var kept = try taken.get()
        kept.etag = etag
        state.withLock { [kept] in $0 = kept }
        meter.found(kept.bytes)
    }

    private static func beginning(of file: OpenFile, _ stop: StopFlag) throws(ClientFailure) -> State {
        var fresh = State()
        do throws(FileError) {
            try file.shorten(to: max(0, try file.status.size - 1))
            try file.seek(to: 0)
            while !stop.isSet, case let bytes = try file.read(atMost: 1 << 20), !bytes.isEmpty {
                fresh.md5.update(bytes)
                fresh.sha256.update(bytes)
                fresh.bytes += Int64(bytes.count)
            }
        } catch {
            throw .file("The beginning of the download cannot be read.")
        }
        guard !stop.isSet else { throw .stopped("Interrupted.") }
        return fresh
    }

    /// The headers that ask for what is missing, provided that the object is still the same.
    var fields: [HTTPTransfer.Field] {
        state.withLock { state in
            guard state.bytes > 0, state.isResumable, let etag = state.etag else { return [] }
            return [.init("Range", "bytes=\(state.bytes)-"), .init("If-Range", etag)]
        }
    }

    /// Reads the head of an attempt's answer, once.
    ///
    /// - Returns: The entity tag if it is new, and the download can go on later.
    func begin(_ head: StreamedTransfer.Head) -> String? {
        state.withLock { state in
            guard !state.hasBegun, state.failure == nil else { return nil }
            state.hasBegun = true
            let etag = head["ETag"]
            let length = head["Content-Length"].flatMap { Int64($0) }
            if head.status == 206 {
                guard state.bytes > 0 else {
                    state.failure = .different("The store answered a part, though the whole object was asked for.")
                    return nil
                }
                guard let range = ContentRange(head["Content-Range"] ?? ""), range.start == state.bytes else {
                    state.failure = .different("The store answered another part of the object than asked for.")
                    return nil
                }
                guard etag == nil || etag == state.etag else {
                    // Some stores ignore If-Range.
                    state.isOutdated = restart(&state)
                    return nil
                }
                state.total = range.total ?? length.map { $0 + range.start }
            } else {
                guard state.bytes == 0 || restart(&state) else { return nil }
                state.total = length
            }
            state.expected = ExpectedContent(head)
            state.isResumable = !head.isDecompressed
            state.contentType = head["Content-Type"]
            meter.expect(state.total)
            guard etag != state.etag else { return nil }
            state.etag = etag
            return state.isResumable ? etag : nil
        }
    }

    /// Writes the next bytes; `false` to give up.
    func take(_ bytes: [UInt8]) -> Bool {
        state.withLock { state in
            guard state.failure == nil, !state.isOutdated else { return false }
            do { try file.write(bytes) } catch {
                state.failure = .file("The file cannot be written. Is the disk full?")
                return false
            }
            state.md5.update(bytes)
            state.sha256.update(bytes)
            state.bytes += Int64(bytes.count)
            meter.add(Int64(bytes.count))
            return true
        }
    }

    /// Prepares for the next attempt.
    ///
    /// - Returns: Whether the object must be asked for anew, from its beginning.
    func endAttempt() -> Bool {
        state.withLock { state in
            state.hasBegun = false
            return exchange(&state.isOutdated, with: false)
        }
    }

    /// Drops what is there.
    func forget() throws(ClientFailure) {
        let isDone = state.withLock { restart(&$0) }
        guard isDone else { throw .different("The object changed while it was downloaded.") }
    }

    /// The end of a download whose bytes are all there.
    func outcome(_ address: ObjectAddress) throws(ClientFailure) -> ObjectDownload.Outcome {
        var state = state.withLock { $0 }
        let checked: String
        if let sha256 = state.expected.sha256 {
            guard state.sha256.finalize().isSame(as: sha256) else { throw changed("SHA-256") }
            checked = "sha256"
        } else if let md5 = state.expected.md5 {
            guard state.md5.finalize().isSame(as: md5) else { throw changed("MD5") }
            checked = "md5"
        } else {
            checked = state.total == nil ? "nothing" : "length"
        }
        return ObjectDownload.Outcome(
            address: address, size: state.bytes, etag: state.etag?.withoutQuotes,
            contentType: state.contentType, checked: checked)
    }

    private func changed(_ digest: String) -> ClientFailure {
        .different(
            "The bytes that arrived do not have the \(digest) that the store tells."
                + (startsOver ? " Nothing was kept." : ""))
    }

    /// Empties the file, since the object is another one than at the beginning.
    private func restart(_ state: inout State) -> Bool {
        guard startsOver else {
            state.failure = .different("The object changed while it was downloaded.")
            return false
        }
        do {
            try file.empty()
        } catch {
            state.failure = .file("The file cannot be written.")
            return false
        }
        meter.add(-state.bytes)
        let hasBegun = state.hasBegun
        state = State()
        state.hasBegun = hasBegun
        return true
    }
}

/// The header `Content-Range` of one range: `bytes 100-199/1000`.
struct ContentRange: Equatable {
    let start: Int64
    let total: Int64?

    init?(_ text: String) {
        guard let match = text.wholeMatch(of: /bytes ([0-9]+)-[0-9]+\/([0-9]+|\*)/), let start = Int64(match.1) else {
            return nil
        }
        self.start = start
        total = Int64(match.2)
    }
}

extension StreamedTransfer.Head {
    /// Whether the store has decompressed the object for this answer. Google Cloud Storage does that where the request
    /// does not accept gzip. Its digests, its length and any range are then those of the stored bytes.
    ///
    /// - SeeAlso: Google Cloud Storage, "Transcoding of gzip-compressed files".
    var isDecompressed: Bool {
        self["x-goog-stored-content-encoding"]?.lowercased() == "gzip" && self["Content-Encoding"] == nil
    }
}

/// The digests of an object that a store tells.
struct ExpectedContent: Equatable {
    var md5: [UInt8]?
    var sha256: [UInt8]?

    init() {}

    init(_ head: StreamedTransfer.Head) {
        guard !head.isDecompressed else { return }
        // In an answer with a range, a digest of the body is that of the range.
        let isWhole = head.status == 200
        sha256 = Self.decoded(head["x-amz-checksum-sha256"], 32)
        let lines = head.fields.filter { $0.name.lowercased() == "x-goog-hash" }.map(\.value)
        let hashes: [Substring] = lines.joined(separator: ",").split(separator: ",").map { $0.drop { $0 == " " } }
        md5 =
            Self.decoded(isWhole ? head["Content-MD5"] : nil, 16)
            ?? Self.decoded(hashes.first { $0.hasPrefix("md5=") }.map { String($0.dropFirst(4)) }, 16)
            ?? Self.entityTag(head)
    }

    private static func decoded(_ text: String?, _ count: Int) -> [UInt8]? {
        text.flatMap { Base64.decode($0) }.flatMap { $0.count == count ? $0 : nil }
    }

    /// The entity tag is the MD5 of an object that was uploaded at once and is not encrypted with a customer's key.
    /// Only Alibaba OSS tells of an object that it was made otherwise.
    private static func entityTag(_ head: StreamedTransfer.Head) -> [UInt8]? {
        let isOther = head.fields.contains { field in
            let name = field.name.lowercased()
            return name.hasSuffix("-server-side-encryption-customer-algorithm")
                || (name.hasSuffix("-server-side-encryption") && field.value != "AES256")
                || name == "x-oss-object-type" && field.value != "Normal"
        }
        guard !isOther, let tag = head["ETag"]?.withoutQuotes, tag.utf8.count == 32 else {
            return nil
        }
        return Hex.decode(tag.lowercased())
    }
}
