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

    private static func event(_ record: JSONObject) throws(GatewayError) -> StoreEvent {
        var record = record
        var s3 = try record.required("s3", record.object("s3"))
        var bucket = try s3.required("bucket", s3.object("bucket"))
        let name = try record.required("eventName", record.string("eventName"))
        let word = name.utf8.starts(with: "s3:".utf8) ? Substring(name.utf8.dropFirst(3)) : name[...]
        var event = StoreEvent(
            bucket: try bucket.required("name", bucket.string("name")),
            isCreation: word.utf8.starts(with: "ObjectCreated:".utf8),
            key: nil, madeAt: try record.string("eventTime").flatMap { try? Timestamp.instant(from: $0) })
        guard var object = try s3.object("object") else { return event }
        let isEncoded = try record.string("eventSource") != "ceph:s3"
        event.key = try object.string("key").flatMap { isEncoded ? FormText.decode($0[...]) : $0 }
        event.size = (try? object.integer("size")) ?? nil
        event.etag = try object.string("eTag").map { FormText.unquoted($0) }
        return event
    }
}

/// Decodes text as forms and notifications encode it.
enum FormText {
    /// Decodes `%XX` and `+`; `nil` where the text is not validly encoded, or its bytes are not UTF-8.
    static func decode(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(0x20)
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Reads `name=value&…`; `nil` for a text that repeats a name or cannot be decoded.
    static func fields(in text: String) -> [String: String]? {
        var fields: [String: String] = [:]
        for pair in text.utf8.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map { Substring($0) }
            guard let name = decode(parts[0]), let value = decode(parts.count > 1 ? parts[1] : ""), fields[name] == nil
            else { return nil }
            fields[name] = value
        }
        return fields
    }

    /// Removes the quotes of an entity tag.
    static func unquoted(_ text: String) -> String {
        let quote = UInt8(ascii: "\"")
        return text.utf8.count >= 2 && text.utf8.first == quote && text.utf8.last == quote
            ? String(Substring(text.utf8.dropFirst().dropLast())) : text
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
