import Bytes
import FoundationEssentials
import GatewayCore
import LibCrypto
import StrictJSON

/// Reads messages of Alibaba OSS: event notifications from MNS or EventBridge, and bodies of callbacks.
///
/// - SeeAlso: Alibaba Cloud, "Event notifications", "Callback".
enum OSSNotification {
    /// Reads the events of a message.
    ///
    /// A callback carries no time, so a mark identifies repeated callbacks. The mark is `reqId`, the identifier of the
    /// request that uploaded; if the callback does not send it, the mark is the digest of the whole body.
    /// - Parameter receivedAt: The time at which a callback was received.
    /// - Throws: `invalidArgument` for anything else.
    static func events(in bytes: [UInt8], receivedAt: Date) throws(GatewayError) -> [StoreEvent] {
        let start = bytes.first { !($0 == 0x20 || 0x09...0x0d ~= $0) }
        guard start != UInt8(ascii: "{") else { return try message(bytes, receivedAt) }
        guard start != UInt8(ascii: "<") else {
            throw .invalidArgument(
                field: "body",
                reason: "The body is XML; set 'NotifyContentFormat' of the subscription to 'SIMPLIFIED' or 'JSON'.")
        }
        let text = String(decoding: bytes, as: UTF8.self)
        // MNS encodes its messages in base64.
        if let decoded = Base64.decode(text), decoded.first == UInt8(ascii: "{") {
            return try message(decoded, receivedAt)
        }
        guard let fields = FormText.fields(in: text), let bucket = fields["bucket"], let object = fields["object"]
        else {
            throw .invalidArgument(
                field: "body", reason: "The body must be a notification, or a callback with 'bucket' and 'object'.")
        }
        return [
            callback(
                bucket, object, receivedAt, size: fields["size"].flatMap { Int64($0) }, etag: fields["etag"],
                mark: mark(fields["reqId"], bytes))
        ]
    }

    private static func message(
        _ bytes: [UInt8], _ receivedAt: Date, isInside: Bool = false
    ) throws(GatewayError) -> [StoreEvent] {
        var message = try JSONObject(JSONText.body(bytes))
        // The format 'JSON' of MNS. In 'SIMPLIFIED', the message is all of the body.
        if !isInside, try message.string("TopicOwner") != nil, let text = try message.string("Message") {
            return try self.message(Base64.decode(text) ?? Array(text.utf8), receivedAt, isInside: true)
        }
        if let data = try message.object("data") { return [try event(data)] }
        if let bucket = try message.string("bucket") {
            let object = try message.required("object", message.string("object"))
            let etag = try message.string("etag")
            let size = (try? message.integer("size")) ?? nil
            let requestID = try message.string("reqId")
            return [
                callback(bucket, object, receivedAt, size: size, etag: etag, mark: mark(requestID, bytes))
            ]
        }
        let records = try message.required("events", message.values("events", atMost: StoreEvents.maxEvents))
        var events: [StoreEvent] = []
        events.reserveCapacity(records.count)
        for (index, record) in records.enumerated() {
            events.append(try event(JSONObject(record, at: message.name(of: "events[\(index)]"))))
        }
        return events
    }

    private static func event(_ record: JSONObject) throws(GatewayError) -> StoreEvent {
        var record = record
        var oss = try record.required("oss", record.object("oss"))
        var bucket = try oss.required("bucket", oss.object("bucket"))
        let name = try record.required("eventName", record.string("eventName"))
        let word = name.utf8.starts(with: "oss:".utf8) ? Substring(name.utf8.dropFirst(4)) : name[...]
        var event = StoreEvent(
            bucket: try bucket.required("name", bucket.string("name")),
            isCreation: word.utf8.starts(with: "ObjectCreated:".utf8) && !namesPart(word),
            key: nil, madeAt: try record.string("eventTime").flatMap { try? Timestamp.instant(from: $0) })
        guard var object = try oss.object("object") else { return event }
        event.key = try object.string("key")
        event.size = (try? object.integer("size")) ?? nil
        event.etag = try object.string("eTag")?.withoutQuotes
        return event
    }

    /// Whether an event is of an upload in parts that is not complete: OSS counts its start and each part among the
    /// creations of objects.
    private static func namesPart(_ word: Substring) -> Bool {
        ["InitiateMultipartUpload", "UploadPart", "UploadPartCopy"].contains(word.drop { $0 != ":" }.dropFirst())
    }

    private static func callback(
        _ bucket: String, _ key: String, _ madeAt: Date, size: Int64?, etag: String?, mark: String
    ) -> StoreEvent {
        StoreEvent(
            bucket: bucket, isCreation: true, key: key, madeAt: madeAt, size: size,
            etag: etag?.withoutQuotes, callbackID: mark)
    }

    /// Returns the mark of a callback. OSS request identifiers have 24 hexadecimal digits, but any visible ASCII text
    /// of 1 to 64 bytes serves as well.
    private static func mark(_ requestID: String?, _ body: [UInt8]) -> String {
        if let requestID, requestID.consists(of: .visible, count: 1...64) {
            return "request:" + requestID
        }
        return "body:" + DigestAlgorithm.sha256.digest(of: body).hex
    }
}
