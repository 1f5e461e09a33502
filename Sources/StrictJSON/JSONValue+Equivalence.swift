import Bytes

extension JSONValue {
    /// Returns whether another value says the same: it has the same members in any order. Names and strings are
    /// compared as bytes, numbers as the digits that were sent.
    public func isEquivalent(to other: JSONValue) -> Bool {
        switch (self, other) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)), (.string(let left), .string(let right)):
            left.isSameBytes(as: right)
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.isEquivalent(to: $1) }
        case (.object(let left), .object(let right)):
            left.count == right.count
                && left.allSatisfy { member in other[member.name].map(member.value.isEquivalent(to:)) ?? false }
        default: false
        }
    }
}
