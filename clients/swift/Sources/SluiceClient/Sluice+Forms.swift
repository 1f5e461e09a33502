public import Foundation

extension Sluice {
    /// Sends a file by a form.
    ///
    /// - Parameter contentType: one of the form's `contentTypes`, if it has several.
    /// - Returns: The upload, which has begun. The gateway is not asked what has arrived; ``confirm(_:)`` does, if the
    ///   form fixes the key.
    public func sendForm(_ form: Form, file: URL, contentType: String? = nil) -> Transfer<UploadResult> {
        Transfer { control in
            let source = try FileSource(file)
            let boundary = "sluice-\(UUID().uuidString)"
            return try await self.withTemporaryDirectory { directory in
                let body = directory.appendingPathComponent("form")
                _ = try await source.digests(
                    of: source.whole, md5: false, sha256: false,
                    copy: Copy(
                        url: body, before: form.head(boundary, file.lastPathComponent, contentType),
                        after: Data("\r\n--\(boundary)--\r\n".utf8)))
                let length = try FileSource(body).size
                let answer = try await self.retrying { _ in
                    try await self.put(
                        body, to: form.url, method: "POST",
                        headers: ["Content-Type": "multipart/form-data; boundary=\(boundary)"],
                        onSent: { control.note(0, max(0, $0 - (length - source.size)), of: source.size) })
                }
                control.note(0, source.size, of: source.size)
                let key = form.key.replacingOccurrences(of: "${filename}", with: Self.quoted(file.lastPathComponent))
                return UploadResult(
                    id: form.id, bucket: form.bucket, key: key, size: source.size, etag: answer.head.etag,
                    state: nil, parts: nil)
            }
        }
    }
}

extension Sluice {
    /// The name of a file as browsers write it.
    fileprivate static func quoted(_ fileName: String) -> String {
        fileName.replacingOccurrences(of: "\"", with: "%22").replacingOccurrences(of: "\n", with: "%0A")
            .replacingOccurrences(of: "\r", with: "%0D")
    }
}

extension Sluice.Form {
    /// What comes before the bytes of the file.
    fileprivate func head(_ boundary: String, _ fileName: String, _ contentType: String?) -> Data {
        var all = fields.sorted { $0.key < $1.key }
        if let field = contentTypeField, let type = contentType ?? contentTypes?.first { all.append((field, type)) }
        var text = ""
        for (name, value) in all {
            text += "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n"
        }
        let name = Sluice.quoted(fileName)
        text += "--\(boundary)\r\nContent-Disposition: form-data; name=\"file\"; filename=\"\(name)\"\r\n"
        text += "Content-Type: application/octet-stream\r\n\r\n"
        return Data(text.utf8)
    }
}
