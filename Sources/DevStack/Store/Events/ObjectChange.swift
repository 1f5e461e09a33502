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
                case .s3: writeS3(&json)
                case .oss: writeOSS(&json)
                }
            }
        }
        return json.bytes
    }

    private func writeS3(_ json: inout JSONWriter) {
        json.object { json in
            json.member("eventVersion", "2.1")
            json.member("eventSource", "aws:s3")
            json.member("eventTime", time)
            json.member("eventName", kind.s3Name)
            json.name("s3")
            json.object { json in
                json.member("s3SchemaVersion", "1.0")
                json.name("bucket")
                json.object { json in json.member("name", bucket) }
                json.name("object")
                json.object { json in
                    json.member("key", PercentText.encode(record.key.utf8, keepingSlashes: true))
                    writeContent(&json)
                }
            }
        }
    }

    private func writeOSS(_ json: inout JSONWriter) {
        json.object { json in
            json.member("eventVersion", "1.0")
            json.member("eventSource", "acs:oss")
            json.member("eventTime", time)
            json.member("eventName", kind.ossName)
            json.name("oss")
            json.object { json in
                json.member("ossSchemaVersion", "1.0")
                json.name("bucket")
                json.object { json in json.member("name", bucket) }
                json.name("object")
                json.object { json in
                    json.member("key", record.key)
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
