extension ContractValue {
    /// The same part of a contract without its examples. Members of schemas that have this name stay.
    public var withoutExamples: ContractValue { withoutExamples(isMemberList: false) }

    /// - Parameter isMemberList: Whether the names are those of a schema's members, and no keywords.
    private func withoutExamples(isMemberList: Bool) -> ContractValue {
        switch self {
        case .array(let items): .array(items.map(\.withoutExamples))
        case .object(let members):
            .object(
                members.filter { isMemberList || $0.name != "examples" }.map { member in
                    let isList = !isMemberList && member.name == "properties"
                    return Member(member.name, member.value.withoutExamples(isMemberList: isList))
                })
        default: self
        }
    }
}
