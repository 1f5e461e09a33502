import Bytes

/// What a request does with one object, or with the list of a bucket's objects, in the stores' words.
public enum ObjectOperation: String, Sendable, Hashable, CaseIterable {
    /// Writes the object.
    case putObject = "PutObject"
    /// Reads the object, as it is or processed.
    case getObject = "GetObject"
    /// Reads the head of the object.
    case headObject = "HeadObject"
    /// Reads length, tag and time of the object. Only Alibaba OSS has this operation.
    case getObjectMeta = "GetObjectMeta"
    /// Starts an upload in parts.
    case initiateMultipartUpload = "InitiateMultipartUpload"
    /// Writes a part.
    case uploadPart = "UploadPart"
    /// Makes the object from its parts.
    case completeMultipartUpload = "CompleteMultipartUpload"
    /// Discards the parts.
    case abortMultipartUpload = "AbortMultipartUpload"
    /// Lists the parts.
    case listParts = "ListParts"
    /// Deletes the object.
    case deleteObject = "DeleteObject"
    /// Lists keys. The request names no object.
    case listObjects = "ListObjects"

    /// Whether the request is a step of writing the object.
    public var isUpload: Bool {
        switch self {
        case .getObject, .headObject, .getObjectMeta, .deleteObject, .listObjects: false
        case .putObject, .initiateMultipartUpload, .uploadPart, .completeMultipartUpload, .abortMultipartUpload,
            .listParts:
            true
        }
    }

    /// Whether the request begins an object, and so gives it its content type and its encryption.
    public var beginsObject: Bool { self == .putObject || self == .initiateMultipartUpload }
}

/// The operation of a request, recognised by its method and query parameters.
struct OperationParameters {
    /// The operation.
    let operation: ObjectOperation
    /// Id of the upload in parts that it belongs to.
    private(set) var uploadID: String?
    /// Number of the part that it writes.
    private(set) var partNumber: Int?

    /// Recognises an operation by method and parameters.
    ///
    /// - Parameters:
    ///   - method: Method in upper case.
    ///   - parameters: All parameters except those of the signature, sorted and distinct.
    ///   - vendor: Vendor of the store.
    ///   - listing: Further parameters that a request to list parts may have.
    ///   - isOfBucket: Whether the path names the bucket alone. Only schemes that sign all parameters may say so.
    /// - Throws: ``StringToSignRefusal`` for every combination that is not known to do exactly one of these operations.
    init(
        method: String, parameters: [NamedValue], vendor: StoreVendor, listing: [String] = [], isOfBucket: Bool = false
    ) throws(StringToSignRefusal) {
        if let refusal = parameters.lazy.compactMap({ Self.refusal(of: $0.name) }).first { throw refusal }
        let names = Set(parameters.map(\.name))
        let found =
            isOfBucket
            ? Self.bucketOperation(method: method, names: names)
            : Self.operation(method: method, names: names, vendor: vendor, listing: listing)
        guard let operation = found else {
            throw ["GET", "HEAD", "PUT", "POST", "DELETE"].contains(method) ? .subResourceNotAllowed : .methodNotAllowed
        }
        self.operation = operation
        for parameter in parameters { try take(parameter) }
    }

    private static func operation(
        method: String, names: Set<String>, vendor: StoreVendor, listing: [String]
    ) -> ObjectOperation? {
        switch (method, names) {
        case ("PUT", []): .putObject
        case ("PUT", ["partNumber", "uploadId"]): .uploadPart
        case ("HEAD", []), ("HEAD", ["versionId"]): .headObject
        case ("HEAD", ["objectMeta"]) where vendor == .alibaba: .getObjectMeta
        case ("POST", ["uploads"]): .initiateMultipartUpload
        case ("POST", ["sequential", "uploads"]) where vendor == .alibaba: .initiateMultipartUpload
        case ("POST", ["uploadId"]): .completeMultipartUpload
        // The version 4 SDKs ask for an encoded key in the answer. Version 1 does not sign this parameter.
        case ("POST", ["encoding-type", "uploads"]) where vendor == .alibaba: .initiateMultipartUpload
        case ("POST", ["encoding-type", "sequential", "uploads"]) where vendor == .alibaba: .initiateMultipartUpload
        case ("POST", ["encoding-type", "uploadId"]) where vendor == .alibaba: .completeMultipartUpload
        case ("DELETE", ["uploadId"]): .abortMultipartUpload
        case ("DELETE", []): .deleteObject
        case ("GET", _) where names.contains("uploadId"):
            names.subtracting(listing) == ["uploadId"] ? .listParts : nil
        case ("GET", _):
            names.subtracting(vendor == .alibaba ? reading.union(["x-oss-process"]) : reading).isEmpty
                ? .getObject : nil
        default: nil
        }
    }

    private static func bucketOperation(method: String, names: Set<String>) -> ObjectOperation? {
        method == "GET" && names.contains("list-type") && names.isSubset(of: paging) ? .listObjects : nil
    }

    private static let paging: Set<String> = [
        "continuation-token", "delimiter", "encoding-type", "fetch-owner", "list-type", "max-keys", "prefix",
        "start-after",
    ]

    private static let reading: Set<String> = [
        "response-cache-control", "response-content-disposition", "response-content-encoding",
        "response-content-language", "response-content-type", "response-expires", "versionId",
    ]

    /// Names that are refused for a reason of their own.
    private static func refusal(of name: String) -> StringToSignRefusal? {
        switch name {
        case "callback", "callback-var": .callback
        default: nil
        }
    }

    private mutating func take(_ parameter: NamedValue) throws(StringToSignRefusal) {
        let value = parameter.value
        switch parameter.name {
        case "uploads", "sequential", "objectMeta":
            guard value.isEmpty else { throw .valueNotAllowed }
        case "uploadId":
            guard Self.isToken(value) else { throw .valueNotAllowed }
            uploadID = value
        case "versionId":
            guard Self.isToken(value) else { throw .valueNotAllowed }
        case "partNumber":
            guard let number = Self.number(value, in: 1...10_000) else { throw .valueNotAllowed }
            partNumber = number
        case "max-parts", "part-number-marker":
            guard Self.number(value, in: 0...10_000) != nil else { throw .valueNotAllowed }
        case "list-type":
            guard value == "2" else { throw .valueNotAllowed }
        case "max-keys":
            guard Self.number(value, in: 1...1000) != nil else { throw .valueNotAllowed }
        case "fetch-owner":
            guard value == "false" else { throw .valueNotAllowed }
        case "continuation-token", "delimiter", "prefix", "start-after":
            // SDKs send empty values, which mean the same as none.
            guard !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { throw .valueNotAllowed }
        case "encoding-type":
            guard value == "url" else { throw .valueNotAllowed }
        case "x-oss-process":
            guard Self.isHarmlessProcess(value) else { throw .processNotAllowed }
        default:
            guard !value.isEmpty, !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
                throw .valueNotAllowed
            }
        }
    }

    /// Whether a text is an id of an upload or a version, in the characters that the vendors use.
    private static func isToken(_ text: String) -> Bool {
        text.consists(of: .unreserved.union("+/="), count: 1...1024)
    }

    private static func number(_ text: String, in range: ClosedRange<Int>) -> Int? {
        guard let number = Int(text), range.contains(number), "\(number)".isSameBytes(as: text) else {
            return nil
        }
        return number
    }

    private static func isHarmlessProcess(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(process.contains) && !text.lowercased().contains("saveas")
    }

    private static let process = ByteSet.alphanumeric.union("-._,/=:@!*+")
}
