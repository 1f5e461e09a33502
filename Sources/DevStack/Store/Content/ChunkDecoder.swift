import Bytes
import LibCrypto

/// What the signatures of chunks begin with: the signature of the request, and the key that made it.
struct ChunkSeed: Sendable {
    let key: HMACKey
    /// The date of the signature, `YYYYMMDD'T'HHMMSS'Z'`.
    let date: String
    /// Day, region, service and terminator, with slashes between them.
    let scope: String
    let signature: String
}

/// Takes the content out of a body in chunks, which arrives in pieces of any size, and verifies signatures of chunks.
///
/// - SeeAlso: Amazon S3 API Reference, "Signature calculations for the Authorization header: transferring payload in
///   multiple chunks" and "… including trailing headers".
struct ChunkDecoder {
    private enum State {
        /// In the line that begins a chunk.
        case head
        case content(left: Int)
        /// In the line break that ends a chunk.
        case end
        /// In the lines after the last chunk.
        case trailer
        case done
    }

    private let seed: ChunkSeed?
    private var state = State.head
    private var line: [UInt8] = []
    private var digest = IncrementalDigest(.sha256)
    /// The signature before the current one, and the one that the current chunk claims.
    private var signatures: (last: String, claimed: String)
    private var trailerLines: [String] = []
    private var trailerSignature: String?
    /// The fields after the last chunk, by name.
    private(set) var trailers: [String: String] = [:]

    private static let maxLineBytes = 1024
    private static let emptyDigest = DigestAlgorithm.sha256.digest(of: []).hex

    /// Begins before the first chunk.
    ///
    /// - Parameter seed: What verifies the chunks; `nil` if they have no signatures.
    init(_ seed: ChunkSeed?) {
        self.seed = seed
        signatures = (seed?.signature ?? "", "")
    }

    /// Whether the end was received.
    var isDone: Bool { if case .done = state { true } else { false } }

    /// Returns the content in the next bytes of the body.
    ///
    /// - Throws: ``StoreError/malformedChunks``, or ``StoreError/signatureMismatch``.
    mutating func decode(_ bytes: [UInt8]) throws(StoreError) -> [UInt8] {
        var content: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            if case .content(let left) = state {
                let piece = Array(rest.prefix(left))
                rest = rest.dropFirst(left)
                content += piece
                digest.update(piece)
                state = .content(left: left - piece.count)
                if piece.count == left { try endContent() }
            } else {
                guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else {
                    line += rest
                    guard line.count <= Self.maxLineBytes else { throw .malformedChunks }
                    return content
                }
                line += rest[..<end]
                rest = rest[(end + 1)...]
                guard line.count <= Self.maxLineBytes, line.popLast() == UInt8(ascii: "\r"),
                    let text = String(validating: line, as: UTF8.self)
                else { throw .malformedChunks }
                line = []
                try take(text)
            }
        }
        return content
    }

    private mutating func take(_ line: String) throws(StoreError) {
        switch state {
        case .head: try begin(line)
        case .end:
            guard line.isEmpty else { throw .malformedChunks }
            state = .head
        case .trailer:
            guard line.isEmpty else { return try takeTrailer(line) }
            try endTrailer()
            state = .done
        case .content, .done: throw .malformedChunks
        }
    }

    /// Reads `size` or `size;chunk-signature=signature`, the size in hexadecimal.
    private mutating func begin(_ line: String) throws(StoreError) {
        let parts = line.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
        let mark = "chunk-signature="
        guard 1...8 ~= parts[0].utf8.count, parts[0].utf8.allSatisfy({ Hex.value(of: $0) != nil }),
            let size = Int(parts[0], radix: 16), (parts.count == 2) == (seed != nil),
            parts.count == 1 || parts[1].hasPrefix(mark)
        else { throw .malformedChunks }
        if parts.count == 2 { signatures.claimed = String(parts[1].dropFirst(mark.count)) }
        state = .content(left: size)
        if size == 0 {
            try endContent()
            state = .trailer
        }
    }

    private mutating func endContent() throws(StoreError) {
        let hash = digest.finalize().hex
        state = .end
        guard seed != nil else { return }
        try verify("PAYLOAD", [Self.emptyDigest, hash], signatures.claimed)
    }

    private mutating func takeTrailer(_ line: String) throws(StoreError) {
        let sides = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard sides.count == 2, trailerSignature == nil, trailerLines.count < 8 else { throw .malformedTrailer }
        let name = sides[0].lowercased()
        let value = String(sides[1].drop { $0 == " " })
        guard name != "x-amz-trailer-signature" else { return trailerSignature = value }
        guard trailers.updateValue(value, forKey: name) == nil else { throw .malformedTrailer }
        trailerLines.append("\(name):\(value)\n")
    }

    private mutating func endTrailer() throws(StoreError) {
        guard seed != nil, !trailerLines.isEmpty else {
            guard trailerSignature == nil else { throw .malformedTrailer }
            return
        }
        guard let trailerSignature else { throw .malformedTrailer }
        try verify(
            "TRAILER", [DigestAlgorithm.sha256.digest(of: trailerLines.joined()).hex], trailerSignature)
    }

    private mutating func verify(_ kind: String, _ hashes: [String], _ claimed: String) throws(StoreError) {
        guard let seed else { return }
        let lines = ["AWS4-HMAC-SHA256-\(kind)", seed.date, seed.scope, signatures.last] + hashes
        let expected = seed.key.authenticationCode(for: Array(lines.joined(separator: "\n").utf8)).hex
        guard constantTimeEqual(Array(expected.utf8), Array(claimed.utf8)) else { throw .signatureMismatch }
        signatures.last = expected
    }
}
