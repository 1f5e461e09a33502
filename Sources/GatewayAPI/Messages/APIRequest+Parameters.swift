import FoundationEssentials
import GatewayCore

extension APIRequest {
    /// Parses a query parameter. What the parser refuses is named after the parameter.
    func parsed<Value>(
        _ name: String, _ parse: (String) throws(GatewayError) -> Value
    ) throws(GatewayError) -> Value? {
        guard let text = try query(name) else { return nil }
        return try GatewayError.naming(name) { () throws(GatewayError) in try parse(text) }
    }

    /// Reads a query parameter that is an instant.
    func instant(_ name: String) throws(GatewayError) -> Date? {
        try parsed(name, TextForm.instant)
    }

    /// Reads a query parameter that is an identifier.
    func identifier(_ name: String) throws(GatewayError) -> UUID? {
        try parsed(name, TextForm.uuid)
    }

    /// Reads a query parameter that is `true` or `false`; `false` where it is absent.
    func flag(_ name: String) throws(GatewayError) -> Bool {
        try parsed(name, TextForm.flag) ?? false
    }

    /// Reads a query parameter that is one of a fixed set of words.
    func word<Word: RawRepresentable & CaseIterable & Sendable>(
        _ name: String, _ type: Word.Type
    ) throws(GatewayError) -> Word? where Word.RawValue == String {
        try parsed(name, TextForm.word)
    }

    /// Reads a query parameter that lists words of a fixed set, separated by commas.
    func words<Word: RawRepresentable & CaseIterable & Hashable & Sendable>(
        _ name: String, _ type: Word.Type
    ) throws(GatewayError) -> Set<Word> where Word.RawValue == String {
        guard let text = try query(name), !text.isEmpty else { return [] }
        return Set(try Self.pieces(of: text, in: name, TextForm.word))
    }

    /// Reads a query parameter that lists actions, separated by commas; `nil` where it is absent.
    func actions(_ name: String) throws(GatewayError) -> Set<Action>? {
        guard let text = try query(name) else { return nil }
        return Set(try Self.pieces(of: text, in: name, TextForm.action))
    }

    /// Reads a query parameter that is a number of seconds; 0, which no life may have, where it is not a number.
    func seconds(_ name: String) throws(GatewayError) -> Int? {
        guard let text = try query(name) else { return nil }
        return Int(text) ?? 0
    }

    private static func pieces<Value>(
        of text: String, in name: String, _ parse: (String) throws(GatewayError) -> Value
    ) throws(GatewayError) -> [Value] {
        var values: [Value] = []
        for piece in text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            values.append(
                try GatewayError.naming(name) { () throws(GatewayError) in try parse(String(Substring(piece))) })
        }
        return values
    }
}
