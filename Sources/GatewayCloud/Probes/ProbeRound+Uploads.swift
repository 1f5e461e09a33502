import GatewayCore
import LibCrypto
import LibCurl
import Signing

extension ProbeRound {
    /// Returns the headers of an upload, as its link binds them.
    func headers(of bytes: [UInt8], claiming hash: Digest? = nil) -> [NamedValue] {
        let headers = basicHeaders + (demandsMD5 ? [Self.md5(of: bytes)] : [])
        // AWS version 2 binds no length.
        guard bucket.scheme == .awsV4 else { return headers }
        let hash = hash ?? DigestAlgorithm.sha256.digest(of: bytes)
        return headers + bucket.uploadHeaders(length: bytes.count, sha256: hash.hex)
    }

    /// Uploads with a link that binds some headers, and sends a header that it does not bind.
    mutating func upload(
        _ headers: [NamedValue], _ bytes: [UInt8]? = nil, as key: ObjectKey? = nil,
        with unsigned: NamedValue? = nil
    ) async -> Reply {
        // libcurl sets the length.
        var sent = headers.filter { $0.name != "content-length" }
        if let unsigned { sent.append(unsigned) }
        let fields = sent.map { HTTPTransfer.Field($0.name, $0.value) }
        let reply = await ask("PUT", .put(body: bytes ?? body), of: key, headers: headers, fields: fields)
        if key == nil { noteTrial(reply) }
        return reply
    }

    /// Removes another object than the probe, which an upload may have written.
    mutating func remove(_ key: ObjectKey, writtenBy reply: Reply) async {
        guard reply.mayHaveWritten else { return }
        noteUnanswered(reply)
        await removeOther(key, version: reply.answer.flatMap { versionID(in: $0) })
    }
}
