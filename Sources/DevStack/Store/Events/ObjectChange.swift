import FoundationEssentials
import StrictJSON

/// What happened to an object, for notifications.
struct ObjectChange: Sendable {
    /// The kinds of changes, with the words of S3 and OSS for them.
    enum Kind: Sendable {
        case put, post, completeUpload, delete

        /// The name of the event at S3, without its prefix.
        var s3Name: String {
            switch self {
            case .put: "ObjectCreated:Put"
            case .post: "ObjectCreated:Post"
            case .completeUpload: "ObjectCreated:CompleteMultipartUpload"
            case .delete: "ObjectRemoved:Delete"
            }
        }

        /// The name of the event at OSS.
        var ossName: String {
            switch self {
            case .put: "ObjectCreated:PutObject"
            case .post: "ObjectCreated:PostObject"
            case .completeUpload: "ObjectCreated:CompleteMultipartUpload"
            case .delete: "ObjectRemoved:DeleteObject"
            }
        }
    }

    let kind: Kind
    let bucket: String
    let record: ObjectRecord
    /// When it happened, in milliseconds since 1970.
    let milliseconds: Int64

    /// The message that a store sends about the change.
    ///
    /// - SeeAlso: AWS, "Event message structure"; Alibaba Cloud OSS, "Event notifications".
    func message(_ dialect: StoreDialect) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.name(dialect == .s3 ? "Records" : "events")
            json.array { json in
                switch dialect {
                case .s3:
                    let key = PercentText.encode(record.key.utf8, keepingSlashes: true)
                    write(
                        &json, "s3", "s3SchemaVersion", version: "2.1", source: "aws:s3", event: kind.s3Name, key: key)
                case .oss:
                    write(
                        &json, "oss", "ossSchemaVersion", version: "1.0", source: "acs:oss", event: kind.ossName,
                        key: record.key)
                }
            }
        }
        return json.bytes
    }

    /// Writes the event. The vendors differ in words only.
    private func write(
        _ json: inout JSONWriter, _ vendor: StaticString, _ schema: StaticString, version: String, source: String,
        event: String, key: String
    ) {
        json.object { json in
            json.member("eventVersion", version)
            json.member("eventSource", source)
            json.member("eventTime", time)
            json.member("eventName", event)
            json.object(vendor) { json in
                json.member(schema, "1.0")
                json.object("bucket") { json in json.member("name", bucket) }
                json.object("object") { json in
                    json.member("key", key)
                    writeContent(&json)
                }
            }
        }
    }

    private func writeContent(_ json: inout JSONWriter) {
        guard kind != .delete else { return }
        json.member("size", record.byteCount)
        json.member("eTag", record.partsTag ?? record.md5)
    }

    private var time: String {
        let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
        return date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
