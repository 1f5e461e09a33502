import Bytes
import FoundationEssentials
import GatewayCore
import StrictJSON

/// Reads messages of S3 and compatible stores.
///
/// - SeeAlso: AWS, "Event message structure"; MinIO and Ceph send the same form, Ceph without encoding the keys.
enum S3Notification {
    /// Reads the events of a message.
    ///
    /// - Throws: `invalidArgument` for anything but a notification, a test message, or either of them in the envelope
    ///   of Amazon SNS.
    static func events(in bytes: [UInt8]) throws(GatewayError) -> [StoreEvent] {
        var message = try JSONObject(JSONText.body(bytes))
        if let type = try message.string("Type") {
            guard type == "Notification" else {
                throw message.invalid(
                    "Type", "The operation accepts notifications, not requests to confirm a subscription.")
            }
            let inner = try message.required("Message", message.string("Message"))
            message = try JSONObject(JSONText.body(Array(inner.utf8)).root, at: "Message")
        }
        if try message.string("Event") == "s3:TestEvent" { return [] }
        let records = try message.required("Records", message.values("Records", atMost: StoreEvents.maxEvents))
        var events: [StoreEvent] = []
        events.reserveCapacity(records.count)
        for (index, record) in records.enumerated() {
            events.append(try event(JSONObject(record, at: message.name(of: "Records[\(index)]"))))
        }
        return events
    }

    /// The events of objects that were made. MinIO counts changes of an object's tags, retention and legal hold among
    /// the creations.
    private static let creations: Set<Substring> = [
        "ObjectCreated:Put", "ObjectCreated:Post", "ObjectCreated:Copy", "ObjectCreated:CompleteMultipartUpload",
    ]

    private static func event(_ record: JSONObject) throws(GatewayError) -> StoreEvent {
        var record = record
        var s3 = try record.required("s3", record.object("s3"))
        var bucket = try s3.required("bucket", s3.object("bucket"))
        let name = try record.required("eventName", record.string("eventName"))
        let word = name.utf8.starts(with: "s3:".utf8) ? Substring(name.utf8.dropFirst(3)) : name[...]
        var event = StoreEvent(
            bucket: try bucket.required("name", bucket.string("name")),
            isCreation: creations.contains(word),
            key: nil, madeAt: try record.string("eventTime").flatMap { try? Timestamp.instant(from: $0) })
        guard var object = try s3.object("object") else { return event }
        let isEncoded = try record.string("eventSource") != "ceph:s3"
        event.key = try object.string("key").flatMap { isEncoded ? FormText.decode($0[...]) : $0 }
        event.size = (try? object.integer("size")) ?? nil
        // Ceph wrote it in small letters once.
        let formerTag = try object.string("etag")
        event.etag = (try object.string("eTag") ?? formerTag)?.withoutQuotes
        return event
    }
}
