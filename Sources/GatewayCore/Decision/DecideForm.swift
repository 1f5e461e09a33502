import FoundationEssentials

/// Decides a request for a form. ``decide(_:for:under:sourceAddress:now:)`` must permit every upload that the form
/// would permit; one refusal refuses the form.
///
/// Conditions that hold for the largest file also hold for a smaller one. If a form leaves the key to the client, one
/// grant must cover the form entirely, and no grant may deny any part of it. The client can use such a form to make any
/// number of objects. It is therefore refused if a quota limits bytes, because only the bytes of one object would be
/// reserved. A form without a size of its own is refused then if the grant has no limit either: it would reserve the
/// largest upload that there is.
/// - Returns: The permit with the shortest lifetime, or the first refusal.
func decide(
    _ request: PostPolicyRequest, for subject: Subject, under policy: AccessPolicy, sourceAddress: IPAddress?, now: Date
) -> Verdict<Permit> {
    let circumstances = Circumstances(sourceAddress: sourceAddress, now: now)
    var denials = Denials()
    if case .below(let prefix) = request.target {
        policy.addDenials(
            to: &denials, of: .putObject, in: request.bucket, for: subject, circumstances,
            where: { KeyArea(prefix: prefix).intersection($0) != nil })
    }
    var shortest: Permit?
    for upload in request.uploads {
        switch decide(upload, for: subject, under: policy, circumstances, besides: denials) {
        case .refuse(let refusal): return .refuse(refusal)
        case .permit(let permit):
            if permit.expiresIn < shortest?.expiresIn ?? .max { shortest = permit }
        }
    }
    if let deny = denials.applying { return .refuse(.denied(by: deny)) }
    guard let shortest else { return .refuse(.noGrant) }
    if case .below = request.target, shortest.reservedBytes != nil {
        let reason = """
            A quota limits bytes, and a form that leaves the key to the client can be sent for many objects; \
            name the key, or let the gateway name it ('keyPrefix'), one form for each object.
            """
        return .refuse(.unmet(.notEnforceable(reason: reason), of: shortest.grant))
    }
    if request.takesLargestAllowed, shortest.reservedBytes != nil, shortest.grant.conditions.maxBytes == nil {
        let reason = """
            A quota limits bytes, and nothing limits the size of this file; an admin must set 'maxBytes' in the grant, \
            which is then reserved for each form.
            """
        return .refuse(.unmet(.notEnforceable(reason: reason), of: shortest.grant))
    }
    if request.uploads.count > 1, shortest.bucket.binding.form?.listsTypes != true {
        let reason = "A form of the bucket's signing scheme binds only one content type; request one form per type."
        return .refuse(.unmet(.notEnforceable(reason: reason), of: shortest.grant))
    }
    return .permit(shortest)
}
