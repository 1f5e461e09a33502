/// The result of a decision: of ``decide(_:for:under:sourceAddress:now:)`` and of the functions that decide about
/// temporary credentials, cookies and forms.
public enum Verdict<Permitted: Sendable>: Sendable {
    /// The request may be signed as the permit states.
    case permit(Permitted)
    /// The request is refused.
    indirect case refuse(Refusal)

    /// Returns the verdict with another form of the permit.
    func map<Other: Sendable>(_ transform: (Permitted) -> Other) -> Verdict<Other> {
        switch self {
        case .permit(let permit): .permit(transform(permit))
        case .refuse(let refusal): .refuse(refusal)
        }
    }
}
