import Bytes
import FoundationEssentials
import HTTPServing
import HTTPTypes

/// The callback that an upload to OSS asks for. OSS calls the address when the object is stored, and answers the upload
/// with what the address answered.
///
/// Callbacks of this store have no signature; name the secret of the bucket in the address.
/// - SeeAlso: Alibaba Cloud OSS, "Callback".
struct OSSCallback: Sendable {
    private let url: String
    private let body: String
    private let contentType: String
    private let variables: [String: String]

    private struct Text: Decodable {
        let callbackUrl: String
        let callbackBody: String
        let callbackBodyType: String?
    }

    /// Reads the callback of a request; `nil` if it asks for none.
    ///
    /// - Throws: ``StoreError`` for a callback that is not base64 of the documented JSON.
    init?(_ request: StoreRequest, _ fields: RequestFields) throws(StoreError) {
        guard fields.dialect == .oss,
            let text = try request.parameter("callback") ?? fields["x-oss-callback"]
        else { return nil }
        guard let bytes = Base64.decode(text),
            let callback = try? JSONDecoder().decode(Text.self, from: Data(bytes))
        else { throw .invalidArgument("The callback configuration is not json format.") }
        url = callback.callbackUrl
        body = callback.callbackBody
        contentType = callback.callbackBodyType ?? "application/x-www-form-urlencoded"
        guard let more = try request.parameter("callback-var") ?? fields["x-oss-callback-var"] else {
            variables = [:]
            return
        }
        guard let bytes = Base64.decode(more),
            let variables = try? JSONDecoder().decode([String: String].self, from: Data(bytes))
        else { throw .invalidArgument("The callback variables are not json format.") }
        self.variables = variables
    }

    /// Sends the callback about a stored object.
    ///
    /// - Returns: The answer to the upload.
    /// - Throws: ``StoreError/callbackFailed(_:)``. The object stays, as at OSS.
    func send(
        through outlet: StoreOutlet?, _ record: ObjectRecord, in bucket: String, requestID: String
    ) async throws(StoreError) -> ServerResponse {
        guard let outlet else { throw .callbackFailed("This store has no gateway to call back.") }
        let type = record.fields.first { $0.name == "content-type" }?.value ?? ""
        var values = variables
        for (name, value) in [
            ("bucket", bucket), ("object", record.key), ("etag", record.partsTag ?? record.md5),
            ("size", "\(record.byteCount)"), ("mimeType", type), ("reqId", requestID),
        ] { values[name] = value }
        let answer = try await outlet.call(url, contentType: contentType, body: Array(filled(values).utf8))
        guard answer.status == 200 else {
            throw .callbackFailed("Error status : \(answer.status).")
        }
        var fields: HeaderFields = [.contentType: "application/json", .eTag: record.entityTag]
        fields.set("x-oss-request-id", to: requestID)
        return ServerResponse(head: ResponseHead(status: .ok, headerFields: fields), body: .bytes(answer.body))
    }

    /// Fills in `${name}`, in the encoding of the body. An unknown name is empty.
    private func filled(_ values: [String: String]) -> String {
        var result = ""
        var rest = body[...]
        while let start = rest.firstRange(of: "${"), let end = rest[start.upperBound...].firstIndex(of: "}") {
            result += rest[..<start.lowerBound]
            let value = values[String(rest[start.upperBound..<end])] ?? ""
            if contentType.hasPrefix("application/json") {
                let quoted = (try? JSONEncoder().encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
                // OSS writes texts with their quotes, unless the template has quotes around the name.
                result += result.hasSuffix("\"") ? String(quoted.dropFirst().dropLast()) : quoted
            } else {
                result += PercentText.encode(value.utf8)
            }
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }
}
