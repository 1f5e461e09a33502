import HTTPServing
import HTTPTypes
import Signing

/// The headers of a request, and those `x-amz-` ones that a signer wrote
/// into the query instead, where they mean the same.
struct RequestFields: Sendable {
    private(set) var pairs: [NamedValue]

    init(_ head: RequestHead, query: [NamedValue]) {
        pairs = head.headerFields.map { NamedValue($0.name.canonicalName, $0.value) }
        let sent = Set(pairs.map(\.name))
        pairs += query.map { NamedValue($0.name.lowercased(), $0.value) }
            .filter { $0.name.hasPrefix("x-amz-") && !sent.contains($0.name) }
    }

    /// The value of a header, by its name in lower case; lines of the same name are joined by commas.
    subscript(_ name: String) -> String? {
        let values = pairs.filter { $0.name == name }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ",")
    }
}

extension HeaderFields {
    /// Sets a header by its name; one whose name is no token is left out.
    mutating func set(_ name: String, to value: String?) {
        guard let name = HTTPField.Name(name) else { return }
        self[name] = value
    }
}
