/// A value of the contract or of a JSON document. Members keep their order.
public indirect enum ContractValue: Sendable, Equatable {
    /// Nothing.
    case null
    /// A truth value.
    case bool(Bool)
    /// A whole number.
    case integer(Int)
    /// Any other number, as its digits.
    case number(String)
    /// A text.
    case string(String)
    /// Values in order.
    case array([ContractValue])
    /// Named values in order.
    case object([Member])

    /// A named value.
    public struct Member: Sendable, Equatable {
        /// The name.
        public var name: String
        /// The value.
        public var value: ContractValue

        /// Names a value.
        public init(_ name: String, _ value: ContractValue) {
            self.name = name
            self.value = value
        }
    }

    /// A member of an object; `nil` if it does not exist. Setting `nil` removes it.
    public subscript(name: String) -> ContractValue? {
        get { members.first { $0.name == name }?.value }
        set {
            var members = members
            if let index = members.firstIndex(where: { $0.name == name }) {
                if let newValue { members[index].value = newValue } else { members.remove(at: index) }
            } else if let newValue {
                members.append(Member(name, newValue))
            }
            self = .object(members)
        }
    }

    /// The members of an object; empty for any other value.
    public var members: [Member] {
        guard case .object(let members) = self else { return [] }
        return members
    }

    /// The items of an array; empty for any other value.
    public var items: [ContractValue] {
        guard case .array(let items) = self else { return [] }
        return items
    }

    /// The text of a string.
    public var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The value of a whole number.
    public var integer: Int? {
        guard case .integer(let number) = self else { return nil }
        return number
    }

    /// The value of a truth value.
    public var flag: Bool? {
        guard case .bool(let flag) = self else { return nil }
        return flag
    }
}
