import FoundationEssentials
import HTTPServing
import HTTPTypes
import Signing

extension ObjectService {
    private static let maxFieldBytes = 20 << 10

    /// Stores the file of a form. The form's own policy is verified, because the request itself has no signature.
    func postForm(
        _ bucket: String, _ request: StoreRequest, _ body: RequestBody, _ verifier: StoreVerifier,
        at instant: SigningInstant
    ) async throws -> ServerResponse {
        var reader = try FormReader(body, contentType: request.headers["content-type"] ?? "")
        var (form, file) = try await fields(&reader)
        let caller = try verifier.verify(form: form, at: instant)
        guard let policyText = form["policy"], let key = form["key"] else {
            throw StoreError.invalidArgument("Bucket POST must contain a field named 'key'.")
        }
        let name = ObjectName(bucket: bucket, key: key.replacing("${filename}", with: Self.lastPart(of: file.fileName)))
        guard !name.key.isEmpty, name.key.utf8.count <= ObjectName.maxKeyBytes, !name.key.utf8.contains(0) else {
            throw StoreError.keyTooLong
        }
        form["key"] = name.key
        form["bucket"] = bucket
        let dialect = caller.scheme.dialect
        let policy = try FormPolicy(base64: policyText)
        try policy.check(form, dialect, at: instant)
        let operation = try StoreOperation.of(request)
        let properties = form["x-oss-object-acl"].map { [RequestProperty.objectACL: $0] } ?? [:]
        guard caller.session?.permits(operation, on: .object(name), properties: properties) ?? true else {
            throw StoreError.accessDenied
        }
        if dialect == .oss, let type = form["x-oss-content-type"] ?? file.contentType { form["content-type"] = type }
        let put = try PutRequest(form: RequestFields(form: form, dialect: dialect))
        try refuseOverwriting(name, put.overwriting)
        let record = try await receive(&reader, name, put, form, policy, dialect, at: instant)
        report(record, in: bucket, as: .post, at: instant)
        return Self.answer(to: form, record, in: bucket)
    }

    /// Reads the fields up to the file, and the head of the file.
    private func fields(_ reader: inout FormReader) async throws -> ([String: String], FormReader.Part) {
        var fields: [String: String] = [:]
        var byteCount = 0
        while let part = try await reader.nextPart() {
            let name = part.name.lowercased()
            if name == "file" { return (fields, part) }
            var value: [UInt8] = []
            while let bytes = try await reader.read() {
                value += bytes
                guard byteCount + value.count <= Self.maxFieldBytes else {
                    throw StoreError(
                        .badRequest, "MaxPostPreDataLengthExceeded",
                        "Your POST request fields preceding the upload file were too large.")
                }
            }
            byteCount += value.count
            guard let text = String(validating: value, as: UTF8.self),
                fields.updateValue(text, forKey: name) == nil
            else { throw StoreError.invalidArgument("The field \(part.name) is repeated, or is not UTF-8 text.") }
        }
        throw StoreError.invalidArgument("POST requires exactly one file upload per request.")
    }

    private func receive(
        _ reader: inout FormReader, _ name: ObjectName, _ put: PutRequest, _ form: [String: String],
        _ policy: FormPolicy, _ dialect: StoreDialect, at instant: SigningInstant
    ) async throws -> ObjectRecord {
        let upload = try files.beginUpload()
        defer { upload.discard() }
        let lengths = policy.lengths
        let headers = RequestFields(form: form, dialect: .s3)
        var check = try ContentCheck(
            try ContentClaims(form: headers, maxBytes: min(lengths.upperBound, maxObjectBytes)))
        while let bytes = try await reader.read() {
            try check.add(bytes)
            try upload.write(bytes)
        }
        guard try await reader.nextPart() == nil else {
            throw StoreError.invalidArgument("The file must be the last field of the form.")
        }
        guard check.byteCount >= lengths.lowerBound else {
            throw StoreError.entityTooSmall(leastBytes: lengths.lowerBound)
        }
        return try keep(upload, name, try check.finish(), put, at: instant)
    }

    /// What a browser sends as the name of a file may be a path.
    private static func lastPart(of fileName: String?) -> String {
        (fileName ?? "").split { $0 == "/" || $0 == "\\" }.last.map(String.init) ?? ""
    }

    private static func answer(to form: [String: String], _ record: ObjectRecord, in bucket: String) -> ServerResponse {
        var fields: HeaderFields = [.eTag: record.entityTag]
        let location = "/\(bucket)/" + PercentText.encode(record.key.utf8, keepingSlashes: true)
        if let target = form["success_action_redirect"] ?? form["redirect"], let page = URL(string: target),
            page.scheme == "http" || page.scheme == "https"
        {
            let query = [("bucket", bucket), ("key", record.key), ("etag", record.entityTag)]
                .map { "\($0)=\(PercentText.encode($1.utf8))" }.joined(separator: "&")
            fields[.location] = target + (target.contains("?") ? "&" : "?") + query
            return ServerResponse(head: ResponseHead(status: .seeOther, headerFields: fields))
        }
        fields[.location] = location
        switch form["success_action_status"] {
        case "200": return ServerResponse(head: ResponseHead(status: .ok, headerFields: fields))
        case "201":
            return StoreXML(
                "PostResponse",
                [
                    StoreXML("Location", location), StoreXML("Bucket", bucket), StoreXML("Key", record.key),
                    StoreXML("ETag", record.entityTag),
                ]
            ).response(.created, fields: fields)
        default: return ServerResponse(head: ResponseHead(status: .noContent, headerFields: fields))
        }
    }
}
