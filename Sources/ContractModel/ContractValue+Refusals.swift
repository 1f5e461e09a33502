extension ContractValue {
    /// The same contract without the answers that refuse a request, whose status is 400 or above. Components stay.
    public var withoutRefusals: ContractValue {
        var contract = self
        contract["paths"] = .object(
            (self["paths"]?.members ?? []).map { path in
                Member(path.name, .object(path.value.members.map { Member($0.name, $0.value.answeringOnly) }))
            })
        return contract
    }

    /// The same operation with the answers below 400 alone.
    private var answeringOnly: ContractValue {
        var operation = self
        operation["responses"] = .object((self["responses"]?.members ?? []).filter { $0.name < "4" })
        return operation
    }
}
