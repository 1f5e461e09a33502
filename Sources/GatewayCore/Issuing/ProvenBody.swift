import Foundation

/// What differs between the deliveries that ``ProvenIssuing`` issues: the rows that bear on a request, what is signed for it,
/// and what the caller gets once that is on record.
protocol ProvenBody: Sendable {
    /// What is signed, and what the answer needs of it.
    associatedtype Content: Sendable
    /// What the caller gets.
    associatedtype Issued: Sendable

    /// Collects the rows that bear on the request.
    ///
    /// - Throws: What ``PolicyCache`` throws; `notEnforceable` where more grants bear on it than can be looked at.
    func policy(for caller: Caller, in cache: PolicyCache) async throws(GatewayError) -> AccessPolicy

    /// Decides, signs, and proves that what was signed holds what was decided.
    ///
    /// - Parameters:
    ///   - policy: The rows.
    ///   - attempt: Who asks, as last authenticated.
    ///   - instant: When it is decided.
    ///   - issuing: Makes identifiers.
    /// - Throws: What no other state of policy could change: `unproven`, `unavailable`, `idempotency`.
    func draft(
        under policy: AccessPolicy, in attempt: ProofAttempt, at instant: Date, for issuing: ProvenIssuing
    ) async throws(GatewayError) -> Drafted<Content>

    /// What the caller gets for a draft that is on record.
    func issued(_ draft: Draft<Content>, quotas: [QuotaBalance]) -> Issued
}

/// What a body makes of a request under some rows.
enum Drafted<Content: Sendable> {
    /// It is permitted and signed.
    case draft(Draft<Content>)
    /// The rows refuse it; newer ones may not.
    case refused(GatewayError)
}

/// Something signed that is not on record yet, and must not leave the process before it is.
///
/// A class: see ``Caller``.
final class Draft<Content: Sendable>: Sendable {
    let proposal: IssuanceProposal
    let content: Content

    init(_ proposal: IssuanceProposal, _ content: Content) {
        self.proposal = proposal
        self.content = content
    }
}

/// One attempt at an answer.
struct ProofAttempt {
    /// How the caller asks.
    let context: RequestContext
    /// Who asks, as last authenticated.
    var caller: Caller
    /// Whether policy was read since the request came, so that a refusal is final.
    var isConfirmed: Bool

    init(_ context: RequestContext, isConfirmed: Bool = false) {
        self.context = context
        caller = context.caller
        self.isConfirmed = isConfirmed
    }
}
