public import FoundationEssentials

/// Explains decisions. It calls the same decision function as issuing, for all grants together and for each grant
/// alone.
public struct Explainer: Sendable {
    let cache: PolicyCache
    let usage: any QuotaUsageSource
    let history: any PolicyHistory
    let issuances: any IssuanceReader
    let now: @Sendable () -> Date

    /// Creates the use case from its parts.
    ///
    /// - Parameters:
    ///   - cache: The policy rows that decisions use.
    ///   - usage: Reads what remains of quotas.
    ///   - history: Reads past policy.
    ///   - issuances: Reads the ledger.
    ///   - now: The gateway's clock.
    public init(
        cache: PolicyCache, usage: any QuotaUsageSource, history: any PolicyHistory, issuances: any IssuanceReader,
        now: @escaping @Sendable () -> Date
    ) {
        self.cache = cache
        self.usage = usage
        self.history = history
        self.issuances = issuances
        self.now = now
    }

    /// Explains how a request with a token of an issuer would be decided, or that the token would not be accepted.
    ///
    /// - Parameters:
    ///   - issuer: The `iss` claim.
    ///   - instant: The time of the request; `nil` for now.
    ///   - reach: What the admin who asks may see. Delegated admins see no issuers.
    ///   - question: Reads the token under the row of its issuer, `nil` if there is none, at the time of the request.
    ///     It throws the errors of authentication.
    /// - Throws: The errors of ``explain(_:within:)``.
    public func explain(
        tokenOf issuer: String, at instant: Date?, within reach: AdminReach,
        _ question: (Issuer?, Date) throws(GatewayError) -> ExplainQuestion
    ) async throws(GatewayError) -> Explanation {
        let asked: ExplainQuestion
        do throws(GatewayError) {
            let row = try await self.issuer(issuer, within: reach)
            asked = try question(row, instant ?? now())
        } catch {
            switch error {
            case .unauthenticated, .expiredToken: return Explanation(.unauthenticated, error: error)
            default: throw error
            }
        }
        return try await explain(asked, within: reach)
    }

    /// Reads an issuer from committed policy; `nil` if there is none.
    private func issuer(_ name: String, within reach: AdminReach) async throws(GatewayError) -> Issuer? {
        guard 1...512 ~= name.utf8.count, !name.utf8.contains(0) else { return nil }
        try reach.requireAll()
        try await cache.advance()
        return try await cache.issuer(name).rows?.row
    }

    /// Explains how a request would be decided, now or at a past time.
    ///
    /// - Parameter reach: What the admin who asks may see. Rows outside take part in the decision, but are not shown.
    /// - Throws: `invalidArgument` if the time is in the future or before the first policy, `outsideAdminScope` for a
    ///   key or a user outside, `slowDown`, `unavailable`. Errors in the request itself, or about the caller, are part
    ///   of the explanation.
    public func explain(
        _ question: ExplainQuestion, within reach: AdminReach
    ) async throws(GatewayError) -> Explanation {
        let place = question.fields.key ?? question.fields.prefix ?? question.fields.keyPrefix ?? ""
        let user = question.subject.principal.rawValue
        guard reach.holds(bucket: question.fields.bucket ?? "", place: place, principals: [user]) else {
            throw .outsideAdminScope
        }
        var explanation = try await decided(question, within: reach).shown(within: reach)
        // Of the grants, only those shown tell that the answer depends on the source.
        if question.sourceAddress == nil, explanation.dependsOnSource { explanation.assumptions.append(.sourceUnknown) }
        return explanation
    }

    private func decided(
        _ question: ExplainQuestion, within reach: AdminReach
    ) async throws(GatewayError) -> Explanation {
        let request: IssueRequest
        do throws(GatewayError) {
            let instant = now()
            request = try IssueRequest(question.fields, delivery: question.delivery) { () throws(GatewayError) in
                .version7(at: instant, randomBytes: [])
            }
        } catch {
            return Explanation(.invalidRequest, error: error)
        }
        let state: State
        do throws(GatewayError) {
            state = try await self.state(for: request, question)
        } catch {
            // These concern the caller, who has too many groups or grants, not the admin who asks.
            switch error {
            case .unauthenticated(let reason, _):
                return Explanation(.unauthenticated, error: .unauthenticated(reason: reason))
            case .notEnforceable, .invalidArgument("key", _): return Explanation(.invalidRequest, error: error)
            default: throw error
            }
        }
        let policy = state.policy
        if let flaw = policy.bucketFlaw { throw flaw }
        guard policy.bucket != nil else {
            return finish(Explanation(.noSuchBucket, error: .accessDenied), state, question)
        }
        let decision = decide(
            request, for: question.subject, under: policy, sourceAddress: question.sourceAddress,
            now: question.at ?? now())
        var explanation = Explanation(decision)
        explanation.matches = policy.explainedMatches(
            of: request, for: question.subject, from: question.sourceAddress, at: question.at ?? now())
        try await weighQuotas(of: request, state, question, into: &explanation)
        if !explanation.isPermitted {
            explanation.nearMisses = try await nearMisses(to: request, state, question.subject, within: reach)
        }
        explanation.bindsSource = policy.shared.bucket?.chosen(by: request).bindsSourceAddress == true
        return finish(explanation, state, question)
    }

    private func finish(_ explanation: Explanation, _ state: State, _ question: ExplainQuestion) -> Explanation {
        var explanation = explanation
        explanation.members = state.members
        explanation.moment = state.moment
        explanation.isCurrent = question.at == nil
        if question.at != nil { explanation.assumptions.append(.bucketAsNow) }
        return explanation
    }

    private func weighQuotas(
        of request: IssueRequest, _ state: State, _ question: ExplainQuestion, into explanation: inout Explanation
    ) async throws(GatewayError) {
        let charges = explanation.permit?.charges
        let holdings = state.policy.holdings(for: request)
        let remainders =
            question.at == nil && !holdings.isEmpty ? try await usage.usage(of: holdings) : []
        for (index, holding) in holdings.enumerated() {
            let takes = charges?.first { $0.quota.id == holding.quota.id }?.amount
            let remainder = remainders.indices ~= index ? remainders[index] : nil
            explanation.quotas.append(
                .init(quota: holding.quota, holder: holding.holder, takes: takes, remainder: remainder))
            guard let takes, let remainder, remainder.remaining < takes, explanation.isPermitted else { continue }
            explanation.reason = .quotaExceeded
            explanation.error = .quotaExceeded(
                QuotaRefusal(
                    quotaID: holding.quota.id.lowercaseText, metric: holding.quota.metric,
                    period: holding.quota.period, limit: holding.quota.limit, remaining: max(0, remainder.remaining),
                    resetsIn: remainder.resetsIn))
        }
    }

    private func nearMisses(
        to request: IssueRequest, _ state: State, _ subject: Subject, within reach: AdminReach
    ) async throws(GatewayError) -> [NearMiss] {
        let principals = state.members.map(\.principal)
        var grants = state.policy.principals.flatMap(\.grants) + state.policy.literalGrants
        // The present grants of others say nothing about their grants at a past time.
        if state.isCurrent {
            grants += try await history.grants(near: request.key, in: request.bucket, of: principals)
        }
        let visible = grants.filter { $0.isVisible(within: reach) }
        return NearMiss.nearest(visible, to: request, for: subject, who: principals)
    }
}

extension Explanation {
    /// Creates an explanation from a decision.
    init(_ decision: Verdict<Permit>) {
        switch decision {
        case .permit(let permit):
            self.init(.granted)
            decidedBy = permit.grant
            self.permit = permit
        case .refuse(let refusal):
            let reason: Reason =
                switch refusal.reason {
                case .denied: .denied
                case .noSuchBucket, .protocolClosed, .outsideTicket, .noGrant: .notGranted
                case .unmet: .conditionFailed
                // Deciding fails for want of a credential alone.
                case .failed: .noCredential
                }
            self.init(reason, error: refusal.error)
            decidedBy = refusal.grant
        }
    }
}
