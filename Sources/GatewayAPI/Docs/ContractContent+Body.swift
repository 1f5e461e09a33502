import Bytes
import ContractModel

extension ContractModel.Content {
    /// Whether the body is a form.
    var isForm: Bool { type == "application/x-www-form-urlencoded" }

    /// An example as it is sent.
    func body(_ example: ContractValue, isIndented: Bool = false) -> String {
        guard isForm else { return example.text ?? example.json(isIndented: isIndented) }
        return example.members.map { "\($0.name)=\(($0.value.text ?? $0.value.json()).percentEncoded)" }
            .joined(separator: "&")
    }
}
