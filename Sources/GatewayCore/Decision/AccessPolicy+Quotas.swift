import FoundationEssentials

extension AccessPolicy {
    /// Returns what a request costs a subject: a charge to each quota that counts it, in the order of the quotas'
    /// identifiers, then one to the subject's ticket.
    ///
    /// - Parameters:
    ///   - subject: The user who asks; must be the first principal.
    ///   - request: The request.
    ///   - bytes: Number of bytes that quotas on bytes reserve.
    func charges(for subject: Subject, of request: IssueRequest, reserving bytes: Int64) -> [QuotaCharge] {
        charges(for: subject) { quota in
            quota.applies(to: request) ? (quota.metric == .urls ? 1 : bytes) : nil
        }
    }

    /// Returns what a signature costs a subject if its holder can also use it for another request: the charges of the
    /// permit, and one URL of each further quota that counts the other request.
    func charges(for subject: Subject, of permit: Permit, and other: IssueRequest) -> [QuotaCharge] {
        charges(for: subject) { quota in
            if let charge = permit.charges.first(where: { $0.quota.id == quota.id }) { return charge.amount }
            return quota.applies(to: other) ? 1 : nil
        }
    }

    /// Returns what a credential that permits some actions costs a subject, in the same order.
    func charges(for subject: Subject, on actions: Set<Action>, in bucket: BucketName) -> [QuotaCharge] {
        charges(for: subject) { $0.applies(in: bucket, to: actions) ? 1 : nil }
    }

    /// Returns the charges to the quotas for which an amount is given, then the one to the ticket.
    @inline(__always)
    private func charges(for subject: Subject, _ takes: (Quota) -> Int64?) -> [QuotaCharge] {
        var charges: [QuotaCharge] = []
        forEachPrincipal { principal in
            for quota in principal.quotas {
                guard let amount = takes(quota) else { continue }
                charges.append(QuotaCharge(quota: quota, holder: quota.holder(for: subject.principal), amount: amount))
            }
        }
        if charges.count > 1 { charges.sort { $0.quota.id < $1.quota.id } }
        if let ticket = subject.ticket { charges.append(ticket.charge) }
        return charges
    }

    /// Whether a byte quota covers a request, even if this step of a multipart upload carries no bytes.
    func limitsBytes(of request: IssueRequest) -> Bool {
        limitsBytes(of: request.action, in: request.bucket)
    }

    /// Whether a byte quota covers an action in a bucket.
    func limitsBytes(of action: Action, in bucket: BucketName) -> Bool {
        principals.contains { principal in
            principal.quotas.contains { $0.metric == .bytes && $0.covers(action, in: bucket) }
        }
    }
}

extension Quota {
    /// Returns the principal whose use is counted when a caller is charged.
    func holder(for caller: Principal) -> Principal {
        sharing == .each ? caller : principal
    }

    /// Whether the quota counts a request.
    func applies(to request: IssueRequest) -> Bool {
        covers(request.action, in: request.bucket) && (metric == .urls ? request.countsAsURL : request.carriesBytes)
    }

    /// Whether the quota counts a credential that permits some actions.
    func applies(in bucket: BucketName, to actions: Set<Action>) -> Bool {
        actions.contains { covers($0, in: bucket) } && (metric == .urls || actions.contains(.putObject))
    }

    /// Whether the quota is for an action in a bucket, whatever it counts.
    fileprivate func covers(_ action: Action, in bucket: BucketName) -> Bool {
        (self.bucket == nil || self.bucket == bucket) && (self.action == nil || self.action == action)
    }
}
