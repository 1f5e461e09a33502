public import FoundationEssentials

/// A stored row with its revision, which changes whenever the row changes.
@dynamicMemberLookup
public struct Stored<Row: Sendable>: Sendable {
    /// The stored row.
    public var row: Row
    /// Identifies this state of the row. No other state has the same revision, not even a later row with the same
    /// identifier.
    public var revision: UUID

    /// Combines a row with its revision.
    public init(row: Row, revision: UUID) {
        self.row = row
        self.revision = revision
    }

    /// Returns a member of the row.
    public subscript<Value>(dynamicMember path: KeyPath<Row, Value>) -> Value {
        row[keyPath: path]
    }
}

extension Stored: Equatable where Row: Equatable {}
