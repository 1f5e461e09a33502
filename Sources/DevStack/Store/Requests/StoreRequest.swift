import Bytes
import HTTPServing
import HTTPTypes
import Signing

/// The head of a request, taken apart once. Verification and operations read only this.
struct StoreRequest: Sendable {
    let method: String
    /// The path as sent.
    let rawPath: String
    /// The path, decoded once and not normalized.
    let path: [UInt8]
    /// The parameters of the query, decoded, in the order sent.
    let query: [NamedValue]
    /// Header values by name in lower case. Values of repeated headers are joined by commas.
    let headers: [String: String]
    /// The bucket that the host names, if any: `bucket.localhost`.
    let hostBucket: String?
    let place: StorePlace

    /// Takes a head apart.
    ///
    /// - Throws: ``StoreError`` if the target cannot be decoded.
    init(_ head: RequestHead) throws(StoreError) {
        method = head.method.rawValue
        let target = head.target.utf8
        let mark = target.firstIndex(of: UInt8(ascii: "?"))
        let rawPath = target[..<(mark ?? target.endIndex)]
        guard let path = PercentText.decode(rawPath, plusIsSpace: false) else {
            throw .badParameters("The path is not well encoded.")
        }
        let rawQuery = mark.map { target[$0...].dropFirst() }
        guard let query = PercentText.pairs(rawQuery ?? "".utf8[...]) else {
            throw .badParameters("The query is not well encoded.")
        }
        self.rawPath = String(Substring(rawPath))
        self.path = path
        self.query = query.map { NamedValue($0.name, $0.value) }
        headers = Dictionary(
            head.headerFields.map { ($0.name.canonicalName, $0.value) }, uniquingKeysWith: { "\($0),\($1)" })
        hostBucket = Self.bucket(inHost: head.authority)
        place = try StorePlace(path: path, hostBucket: hostBucket)
    }

    /// The value of a parameter.
    ///
    /// - Throws: ``StoreError`` if the query repeats the parameter.
    func parameter(_ name: String) throws(StoreError) -> String? {
        let values = query.filter { $0.name.isSameBytes(as: name) }
        guard values.count <= 1 else { throw .badParameters("The query repeats \(name).") }
        return values.first?.value
    }

    /// Whether the query has a parameter.
    func has(_ name: String) -> Bool {
        query.contains { $0.name.isSameBytes(as: name) }
    }

    private static func bucket(inHost authority: String) -> String? {
        let host = authority.split(separator: ":", maxSplits: 1).first.map { $0.lowercased() } ?? ""
        guard host.hasSuffix(".localhost") else { return nil }
        return String(host.dropLast(".localhost".count))
    }
}
