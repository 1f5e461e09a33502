import FoundationEssentials
import GatewayCore

extension JSONObject {
    /// Takes a principal.
    mutating func principal(_ name: String) throws(GatewayError) -> Principal? {
        try parsed(name, TextForm.principal)
    }

    /// Takes an instant.
    mutating func instant(_ name: String) throws(GatewayError) -> Date? {
        try parsed(name, TextForm.instant)
    }

    /// Takes an identifier.
    mutating func uuid(_ name: String) throws(GatewayError) -> UUID? {
        try parsed(name, TextForm.uuid)
    }

    /// Takes one of a fixed set of words.
    mutating func word<Word: RawRepresentable & CaseIterable & Sendable>(
        _ name: String, _ type: Word.Type
    ) throws(GatewayError) -> Word? where Word.RawValue == String {
        try parsed(name, TextForm.word)
    }

    /// Takes an array of a fixed set of words.
    mutating func words<Word: RawRepresentable & CaseIterable & Hashable & Sendable>(
        _ name: String, _ type: Word.Type
    ) throws(GatewayError) -> Set<Word> where Word.RawValue == String {
        Set(try parsedItems(name, TextForm.word) ?? [])
    }

    /// Takes actions; an empty array gives an empty set.
    mutating func actions(_ name: String) throws(GatewayError) -> Set<Action>? {
        try parsedItems(name, TextForm.action).map { Set($0) }
    }
}
