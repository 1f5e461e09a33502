import GatewayCore
import LibCrypto
import LibCurl
import Signing

/// One running check. Its steps on the probe object are here, its other steps in the extensions.
struct ProbeRound {
    let probe: BucketProbe
    let bucket: Bucket
    let credential: StorageCredential
    let cdnCredential: StorageCredential?
    let body: [UInt8]
    let deadline: ContinuousClock.Instant
    /// The bucket at the address that links have by default.
    let linked: Bucket
    /// Whether a server answered there.
    var wasReached = false
    /// Whether the store takes only uploads whose link binds an MD5.
    var demandsMD5 = false
    /// Versions of the probe object that the store made while unsigned headers were tested.
    var trialVersions: [NamedValue] = []
    /// Whether another object, or another version of the probe object, may still exist, or an upload may still arrive.
    var leavesOthers = false
    var validation: BucketValidation

    static let type = NamedValue("content-type", "application/octet-stream")

    init(
        _ probe: BucketProbe, _ bucket: Bucket, _ credential: StorageCredential, _ cdnCredential: StorageCredential?,
        _ key: ObjectKey
    ) {
        self.probe = probe
        self.bucket = bucket
        self.credential = credential
        self.cdnCredential = cdnCredential
        linked = bucket.at(.default) ?? bucket
        body = Array(("sluice probe " + key.rawValue).utf8)
        deadline = .now + probe.patience
        validation = BucketValidation(probeKey: key, findings: [], leavesProbe: false, clockDifference: nil)
    }

    /// Steps on the probe object.
    mutating func tryObject() async {
        let sentAt = probe.now()
        let put = await tryPut()
        let answeredAt = probe.now()
        // If nothing can have been written, there is nothing to remove.
        validation.leavesProbe = put.mayHaveWritten
        noteUnanswered(put)
        if put.isDone {
            let body = body
            note(.get, await ask("GET", .get)) { $0.status == 200 && $0.body == body }
            let length = Int64(body.count)
            let head = await ask("HEAD", .head)
            note(.head, head) { $0.status == 200 && $0.contentLength == length }
            compareWriteTime(head.answer, between: sentAt, and: answeredAt)
            await tryEndpoints()
            await tryUnsigned()
        } else {
            skip(.get, .head, .writeTime)
            skipEndpoints()
            skipUnsigned()
        }
        guard validation.leavesProbe else { return skip(.delete, .absent) }
        let version = put.answer.flatMap { versionID(in: $0) }
        for version in trialVersions { await removeOther(version: version) }
        let deletion = await ask(
            "DELETE", .delete, query: version.map { [$0] } ?? [], until: .now + BucketProbe.removalTimeout)
        let isGone = note(.delete, deletion, ofVersion: version != nil, isAsHoped: Self.isRemoved)
        validation.leavesProbe = !isGone
        guard isGone else { return skip(.absent) }
        note(.absent, await ask("HEAD", .head)) { $0.status == 404 }
        if case .unexpected? = validation.findings.last?.failure { validation.leavesProbe = true }
        if leavesOthers { validation.leavesProbe = true }
    }

    /// Notes what an upload over the probe object may have left.
    mutating func noteTrial(_ reply: Reply) {
        if let version = reply.answer.flatMap({ versionID(in: $0) }) { trialVersions.append(version) }
        noteUnanswered(reply)
    }

    /// Notes that an upload without an answer may arrive after the removal.
    mutating func noteUnanswered(_ reply: Reply) {
        if reply.answer == nil, reply.mayHaveWritten { leavesOthers = true }
    }

    /// Removes what a step wrote besides the probe object: another object, or another version.
    mutating func removeOther(_ key: ObjectKey? = nil, version: NamedValue?) async {
        let removal = await ask(
            "DELETE", .delete, of: key, query: version.map { [$0] } ?? [], timeout: BucketProbe.removalTimeout,
            until: deadline + BucketProbe.removalTimeout)
        if !(removal.answer.map(Self.isRemoved) ?? false) { leavesOthers = true }
    }

    private static func isRemoved(_ answer: HTTPTransfer.Answer) -> Bool {
        200..<300 ~= answer.status || answer.status == 404
    }

    /// Writes the probe object by a link without a digest, or with one if the store refuses that.
    private mutating func tryPut() async -> Reply {
        func isDone(_ answer: HTTPTransfer.Answer) -> Bool { 200..<300 ~= answer.status }
        let headers = basicHeaders
        let put = await ask("PUT", .put(body: body), headers: headers)
        guard put.answer?.status == 400 else {
            note(.put, put, isAsHoped: isDone)
            return put
        }
        let bound = await ask("PUT", .put(body: body), headers: headers + [Self.md5(of: body)])
        demandsMD5 = bound.isDone
        if demandsMD5 { mark(.warned, .put, put) } else { note(.put, bound, isAsHoped: isDone) }
        return bound
    }

    /// The headers that each link for an upload binds.
    var basicHeaders: [NamedValue] { [Self.type] + bucket.encryptionHeaders }

    static func md5(of bytes: [UInt8]) -> NamedValue {
        NamedValue("content-md5", DigestAlgorithm.md5.digest(of: bytes).base64)
    }

    /// Notes the outcome of a step together with the request because of which it did not pass.
    mutating func mark(
        _ outcome: BucketValidation.Outcome, _ step: BucketValidation.Step, _ reply: Reply, origin: String? = nil
    ) {
        validation.findings.append(
            BucketValidation.Finding(
                step: step, outcome: outcome, origin: origin,
                failure: reply.failure ?? reply.answer.map { ProbeFailure($0) },
                status: reply.answer?.status, duration: reply.duration))
    }

    /// Notes the result of a request. Returns whether it was as hoped.
    @discardableResult
    mutating func note(
        _ step: BucketValidation.Step, _ reply: Reply, origin: String? = nil, endpoint: PublicEndpoint.Name? = nil,
        ofVersion isOfVersion: Bool = false, isAsHoped: (HTTPTransfer.Answer) -> Bool
    ) -> Bool {
        var finding = BucketValidation.Finding(
            step: step, outcome: .passed, origin: origin, endpoint: endpoint, isOfVersion: isOfVersion,
            failure: reply.failure, status: reply.answer?.status, duration: reply.duration)
        if let answer = reply.answer, !isAsHoped(answer) { finding.failure = ProbeFailure(answer) }
        if let failure = finding.failure { finding.outcome = outcome(of: step, failure, at: endpoint) }
        validation.findings.append(finding)
        return finding.failure == nil
    }

    /// Links also work with credentials that may neither remove nor list objects, and at endpoints that only others
    /// than the gateway reach. Where the row does not say that the CDN drops parameters, no links to OSS are issued.
    private func outcome(
        of step: BucketValidation.Step, _ failure: ProbeFailure, at endpoint: PublicEndpoint.Name?
    ) -> BucketValidation.Outcome {
        if case .refused(403, _) = failure, step == .delete || step == .absent { return .warned }
        if step.isOfEndpoint, failure.isOutOfReach { return .skipped }
        // A CDN that is too busy or in trouble does not tell what it does with misuse.
        if step.isOfEndpoint, step != .endpoint, failure.isTemporary { return .skipped }
        let signing = endpoint.flatMap { bucket.publicEndpoints[$0]?.signing }
        if step == .addedParameter, signing?.dropsParameters != true { return .warned }
        return .failed
    }

    /// Notes steps that are not tried.
    mutating func skip(
        _ steps: BucketValidation.Step..., origin: String? = nil, endpoint: PublicEndpoint.Name? = nil
    ) {
        validation.findings += steps.map { .init(step: $0, outcome: .skipped, origin: origin, endpoint: endpoint) }
    }
}
