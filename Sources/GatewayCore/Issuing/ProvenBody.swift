import FoundationEssentials

/// The part of ``ProvenIssuing`` that differs between deliveries: which policy rows apply to a request, what is signed
/// for it, and what the caller receives once it is recorded.
protocol ProvenBody: Sendable {
    /// The signed credential, and the data that the answer needs from it.
    associatedtype Content: Sendable
    /// The value that the caller receives.
    associatedtype Issued: Sendable

    /// What is asked for, as operators see it if it is refused.
    var target: RefusalTarget { get }

    /// Whether the request can only end an upload in parts. A bucket that closed the protocol of the request still
    /// permits that.
    var endsUpload: Bool { get }

    /// Collects the policy rows that apply to the request.
    ///
    /// - Throws: The errors of ``PolicyCache``; `notEnforceable` if more grants apply than can be examined.
    func policy(for caller: Caller, in cache: PolicyCache) async throws(GatewayError) -> AccessPolicy

    /// Decides, signs, and proves that the signed credential binds what was decided.
    ///
    /// Bodies that do not wait for anything here mark it `@inline(never)`, for the reason given at the steps of
    /// ``ProvenIssuing``: inlined, it made a frame of 3 KB.
    /// - Parameters:
    ///   - policy: The policy rows that apply.
    ///   - attempt: The context of the request, and the caller as last authenticated.
    ///   - instant: The time of the decision.
    ///   - issuing: The source of identifiers.
    /// - Throws: Only errors that no change of policy could avoid: `unproven`, `unavailable`, `idempotency`.
    func draft(
        under policy: AccessPolicy, in attempt: ProofAttempt, at instant: Date, for issuing: ProvenIssuing
    ) async throws(GatewayError) -> Drafted<Content>

    /// Returns the value that the caller receives for a recorded draft.
    func issued(_ draft: Draft<Content>, quotas: [QuotaBalance]) -> Issued
}

extension ProvenBody {
    var endsUpload: Bool { false }
}

/// The result of deciding and signing a request under given policy rows.
enum Drafted<Content: Sendable> {
    /// The request is permitted and signed.
    case draft(Draft<Content>)
    /// The rows refuse the request; newer rows may permit it.
    indirect case refused(Refusal)
}

/// A signed credential that is not yet recorded. It must not leave the process before it is.
///
/// This is a class for the reason given at ``Caller``.
final class Draft<Content: Sendable>: Sendable {
    let proposal: IssuanceProposal
    let content: Content
    /// The signing scheme of the credential; that of the bucket, for temporary credentials.
    let scheme: LinkScheme

    init(_ proposal: IssuanceProposal, _ content: Content, by scheme: LinkScheme) {
        self.proposal = proposal
        self.content = content
        self.scheme = scheme
    }
}

/// One attempt to answer a request.
struct ProofAttempt {
    /// The circumstances of the request.
    let context: RequestContext
    /// The caller, as last authenticated.
    var caller: Caller
    /// Whether policy was read after the request arrived. If so, a refusal is final.
    var isConfirmed: Bool

    init(_ context: RequestContext, isConfirmed: Bool = false) {
        self.context = context
        caller = context.caller
        self.isConfirmed = isConfirmed
    }
}

extension PolicyCache {
    /// Returns the policy that affects a caller for an object, or for all keys that a listing may show.
    ///
    /// - Throws: The errors of ``access(of:groups:to:key:)``; `notEnforceable` if more grants affect a listing than can
    ///   be examined.
    @inline(__always)
    func access(
        of principal: Principal, groups: [Principal], to bucket: BucketName, key: ObjectKey, listing: Listing?
    ) async throws(GatewayError) -> AccessPolicy {
        guard let listing else { return try await access(of: principal, groups: groups, to: bucket, key: key) }
        let policy = try await access(of: principal, groups: groups, to: bucket, around: listing.folder)
        guard let policy else {
            throw .notEnforceable(reason: "Too many grants exist below the prefix; list a longer one.")
        }
        return policy
    }
}
