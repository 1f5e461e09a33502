/// The result of a decision: of ``decide(_:for:under:sourceAddress:now:)`` and of the functions that decide about
/// temporary credentials, cookies and forms.
public enum Verdict<Permitted: Sendable>: Sendable {
    /// The request may be signed as the permit states.
    case permit(Permitted)
    /// The request is refused.
    indirect case refuse(Refusal)
}
