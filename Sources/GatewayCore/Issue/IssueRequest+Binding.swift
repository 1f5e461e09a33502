import LibCrypto
import Signing

extension IssueRequest {
    /// The headers that a URL for this request binds and that the client must send.
    var boundHeaders: [NamedValue] {
        guard action == .putObject else { return [] }
        var headers: [NamedValue] = []
        headers.reserveCapacity(6 + metadata.entries.count)
        if let contentType { headers.append(NamedValue("content-type", contentType.text)) }
        if let contentMD5 { headers.append(NamedValue("content-md5", Base64.encode(contentMD5))) }
        if let contentLength { headers.append(NamedValue("content-length", String(contentLength))) }
        if let checksumSHA256 {
            headers.append(NamedValue("x-amz-checksum-sha256", Base64.encode(checksumSHA256)))
        }
        for entry in metadata.entries { headers.append(NamedValue("x-amz-meta-" + entry.name, entry.value)) }
        if createsOnly { headers.append(NamedValue("if-none-match", "*")) }
        return headers
    }

    /// The parameters that a URL for this request binds, decoded.
    func boundQuery(forcesDownload: Bool) -> [NamedValue] {
        guard action == .getObject else { return [] }
        let disposition = response.contentDisposition ?? (forcesDownload ? "attachment" : nil)
        let parameters: [(name: String, value: String?)] = [
            ("response-cache-control", response.cacheControl),
            ("response-content-disposition", disposition),
            ("response-content-encoding", response.contentEncoding),
            ("response-content-language", response.contentLanguage),
            ("response-content-type", response.contentType?.text),
            ("response-expires", response.expires),
        ]
        return parameters.compactMap { name, value in value.map { NamedValue(name, $0) } }
    }
}
