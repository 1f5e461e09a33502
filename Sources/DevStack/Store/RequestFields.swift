import HTTPServing
import HTTPTypes
import Signing

/// The headers of a request, together with the `x-amz-` parameters that a signer put into the query instead and that
/// mean the same.
struct RequestFields: Sendable {
    private(set) var pairs: [NamedValue]

    init(_ head: RequestHead, query: [NamedValue]) {
        pairs = head.headerFields.map { NamedValue($0.name.canonicalName, $0.value) }
        let sent = Set(pairs.map(\.name))
        pairs += query.map { NamedValue($0.name.lowercased(), $0.value) }
            .filter { $0.name.hasPrefix("x-amz-") && !sent.contains($0.name) }
    }

    /// The value of a header, by its lower-case name; the values of repeated headers are joined by commas.
    subscript(_ name: String) -> String? {
        let values = pairs.filter { $0.name == name }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ",")
    }
}

extension HeaderFields {
    /// Sets a header by its name; does nothing if the name is not a valid token.
    mutating func set(_ name: String, to value: String?) {
        guard let name = HTTPField.Name(name) else { return }
        self[name] = value
    }
}
