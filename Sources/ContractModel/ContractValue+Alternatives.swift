extension ContractValue {
    /// Groups of members of which a value must have one, by this schema; empty if there is no such choice.
    ///
    /// The contract says it by `if`, `then` and `else`, because programs that generate clients take an object with
    /// `oneOf` for a value of any type.
    public var alternatives: [[String]] {
        guard let condition = self["if"], let rest = self["else"] else { return [] }
        return [condition.requiredNames] + (rest["if"] == nil ? [rest.requiredNames] : rest.alternatives)
    }

    /// The names of the members that an object must have, by this schema.
    public var requiredNames: [String] { (self["required"]?.items ?? []).compactMap(\.text) }
}
