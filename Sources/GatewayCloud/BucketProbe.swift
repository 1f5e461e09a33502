import Bytes
public import FoundationEssentials
public import GatewayCore
import LibCrypto
import LibCurl
import Signing

/// Tests buckets at their stores with the links that users get. Requests go through ``OutboundClient``.
public struct BucketProbe: BucketValidator {
    let client: OutboundClient
    let maxClockDifference: TimeInterval
    let now: @Sendable () -> Date
    let signer = URLSigner()

    /// Time for everything except the removal of the probe object, which is always attempted.
    static let patience = Duration.seconds(9)
    static let stepTimeout = Duration.seconds(4)
    static let endpointTimeout = Duration.seconds(2)
    static let removalTimeout = Duration.seconds(3)
    static let urlLife = 60
    /// How long ago a link was signed that must have ended.
    static let expiredFor: TimeInterval = 600
    static let maxAnswerBytes = 65_536

    /// Makes a probe.
    ///
    /// - Parameters:
    ///   - client: The client for requests to stores.
    ///   - maxClockDifference: Seconds by which the time that a store notes for an object may differ from the gateway's
    ///     clock, as for the settling of reservations.
    ///   - now: The clock of the signatures.
    public init(
        client: OutboundClient, maxClockDifference: TimeInterval, now: @escaping @Sendable () -> Date
    ) {
        self.client = client
        self.maxClockDifference = maxClockDifference
        self.now = now
    }

    /// Writes, reads and removes a probe object, reads it through each public endpoint, and sends the preflight
    /// requests of the bucket's origins.
    public func validate(
        _ bucket: Bucket, with credential: StorageCredential, _ cdnCredential: StorageCredential?, probe: ObjectKey
    ) async -> BucketValidation {
        var round = ProbeRound(self, bucket, credential, cdnCredential, probe)
        await round.tryObject()
        for origin in bucket.allowedOrigins { await round.tryPreflight(from: origin) }
        round.compareClocks()
        return round.validation.advised(for: bucket)
    }
}

/// One running check.
struct ProbeRound {
    private let probe: BucketProbe
    private let bucket: Bucket
    private let credential: StorageCredential
    private let cdnCredential: StorageCredential?
    private let body: [UInt8]
    private let deadline: ContinuousClock.Instant
    /// The bucket at the address that links have by default.
    private let linked: Bucket
    /// Whether a server answered there.
    private var wasReached = false
    /// Versions of the probe object that the store made while unsigned headers were tested.
    private var trialVersions: [NamedValue] = []
    /// Whether the tested copy of the probe object may still exist.
    private var leavesOthers = false
    private(set) var validation: BucketValidation

    private static let type = NamedValue("content-type", "application/octet-stream")

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
        deadline = .now + BucketProbe.patience
        validation = BucketValidation(probeKey: key, findings: [], leavesProbe: false, clockDifference: nil)
    }

    /// Steps on the probe object.
    mutating func tryObject() async {
        let md5 = NamedValue("content-md5", DigestAlgorithm.md5.digest(of: body).base64)
        let sentAt = probe.now()
        let put = await ask("PUT", .put(body: body), headers: [Self.type, md5])
        let answeredAt = probe.now()
        let isWritten = note(.put, put) { 200..<300 ~= $0.status }
        // If nothing can have been written, there is nothing to remove.
        validation.leavesProbe = put.mayHaveWritten
        if isWritten {
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
            for name in endpoints {
                skip(.endpoint, endpoint: name)
                if bucket.at(name)?.hasCDNLinks == true { skipLinks(at: name) }
            }
            for step in unsignedSteps { skip(step) }
        }
        guard validation.leavesProbe else { return skip(.delete, .absent) }
        let version = put.answer.flatMap { versionID(in: $0) }
        for version in trialVersions {
            _ = await ask("DELETE", .delete, query: [version], timeout: BucketProbe.removalTimeout)
        }
        let deletion = await ask(
            "DELETE", .delete, query: version.map { [$0] } ?? [], timeout: BucketProbe.removalTimeout)
        let isGone = note(.delete, deletion) { 200..<300 ~= $0.status || $0.status == 404 }
        validation.leavesProbe = !isGone
        guard isGone else { return skip(.absent) }
        note(.absent, await ask("HEAD", .head)) { $0.status == 404 }
        if case .unexpected? = validation.findings.last?.failure { validation.leavesProbe = true }
        if leavesOthers { validation.leavesProbe = true }
    }

    private var endpoints: [PublicEndpoint.Name] {
        PublicEndpoint.Name.allCases.filter { bucket.publicEndpoints[$0] != nil }
    }

    /// Reads the probe object as users of each public endpoint do. The gateway need not reach them all.
    private mutating func tryEndpoints() async {
        let body = body
        for name in endpoints {
            let place = bucket.at(name)
            let reply = await ask("GET", .get, at: place, timeout: BucketProbe.endpointTimeout)
            let isRead = note(.endpoint, reply, endpoint: name) { $0.status == 200 && $0.body == body }
            guard let place, place.hasCDNLinks else { continue }
            if isRead { await tryLinks(at: place, name) } else { skipLinks(at: name) }
        }
    }

    /// Tries what a content delivery network must refuse: reading without a signature or by a link that has ended, and
    /// uploading by a link for a download.
    private mutating func tryLinks(at place: Bucket, _ name: PublicEndpoint.Name) async {
        let timeout = BucketProbe.endpointTimeout
        func isRefused(_ answer: HTTPTransfer.Answer) -> Bool { 300..<500 ~= answer.status }
        let unsigned = await ask(.unsigned, .get, at: place, timeout: timeout)
        note(.unsignedLink, unsigned, endpoint: name, isAsHoped: isRefused)
        let expired = await ask(.expired("GET"), .get, at: place, timeout: timeout)
        note(.expiredLink, expired, endpoint: name, isAsHoped: isRefused)
        let upload = await ask(
            "GET", .put(body: body), at: place, fields: [HTTPTransfer.Field(Self.type.name, Self.type.value)],
            timeout: timeout)
        if let version = upload.answer.flatMap({ versionID(in: $0) }) { trialVersions.append(version) }
        note(.uploadByLink, upload, endpoint: name, isAsHoped: isRefused)
    }

    private mutating func skipLinks(at name: PublicEndpoint.Name) {
        skip(.unsignedLink, .expiredLink, .uploadByLink, endpoint: name)
    }

    /// The steps that misuse links with headers or bytes that the bucket's scheme does not bind. AWS version 2 signs
    /// all headers of the vendor, but none of other vendors; OSS and Google refuse what is not signed.
    private var unsignedSteps: [BucketValidation.Step] {
        switch bucket.scheme {
        case .awsV4: [.unsignedACL, .unsignedCopy, .unsignedTimes, .unsignedType, .checksum]
        case .awsV2: [.unsignedTimes, .unsignedType]
        case .ossV4, .ossV1, .gcsV4RSA, .gcsV4HMAC, .gcsV2RSA: []
        }
    }

    /// Tries to misuse the links that users get.
    private mutating func tryUnsigned() async {
        for step in unsignedSteps {
            switch step {
            case .unsignedACL: await tryPublishing()
            case .unsignedCopy: await tryCopying()
            case .unsignedTimes: await tryTimes()
            case .unsignedType: await tryGuessing()
            default: await tryOtherBytes()
            }
        }
    }

    /// Returns the headers of an upload, as its link binds them.
    private func headers(of bytes: [UInt8], claiming hash: Digest? = nil) -> [NamedValue] {
        // AWS version 2 binds no length.
        guard bucket.scheme == .awsV4 else { return [Self.type] }
        let hash = hash ?? DigestAlgorithm.sha256.digest(of: bytes)
        return [Self.type] + bucket.uploadHeaders(length: bytes.count, sha256: hash.hex)
    }

    private mutating func tryPublishing() async {
        let published = await upload(headers(of: body), with: HTTPTransfer.Field("x-amz-acl", "public-read"))
        guard published.isDone else { return judge(.unsignedACL, published, isObeyed: false) }
        let list = await ask("GET", .get, query: [NamedValue("acl", "")])
        guard let answer = list.answer else { return judge(.unsignedACL, list, isObeyed: false) }
        guard list.isDone else {
            // The credential may not read access lists, or the store has none. The upload alone says nothing.
            validation.findings.append(
                BucketValidation.Finding(
                    step: .unsignedACL, outcome: .skipped, failure: ProbeFailure(answer), status: answer.status,
                    duration: list.duration))
            return
        }
        judge(.unsignedACL, published, isObeyed: Self.hold(answer.body, "/groups/global/AllUsers"))
    }

    private mutating func tryCopying() async {
        // The source is another object, because an object cannot be copied onto itself.
        guard let copy = try? ObjectKey(validation.probeKey.rawValue + "-copy") else { return }
        let other = [UInt8](repeating: UInt8(ascii: "x"), count: body.count)
        let source = HTTPTransfer.Field("x-amz-copy-source", "/\(bucket.name)/\(validation.probeKey)")
        let copied = await upload(headers(of: other), other, as: copy, with: source)
        var isCopy = false
        if copied.isDone { isCopy = await ask("GET", .get, of: copy).answer?.body == body }
        await remove(copy, writtenBy: copied)
        judge(.unsignedCopy, copied, isObeyed: isCopy)
    }

    /// OpenStack Swift refuses a time that is over; MinIO takes a time of writing. Others ignore the headers.
    private mutating func tryTimes() async {
        let headers = headers(of: body)
        let ended = await upload(headers, with: HTTPTransfer.Field("x-delete-at", "1"))
        let dated = await upload(headers, with: HTTPTransfer.Field("x-minio-source-mtime", "2001-01-01T00:00:00Z"))
        var isObeyed = ended.answer?.status == 400
        if !isObeyed, dated.isDone {
            let year = await ask("HEAD", .head).answer?.field("last-modified") ?? ""
            isObeyed = year.contains(" 2001 ")
        }
        judge(.unsignedTimes, ended, isObeyed: isObeyed && !bucket.externalDeletions)
    }

    /// OpenStack Swift guesses a type from how the key ends.
    private mutating func tryGuessing() async {
        guard let page = try? ObjectKey(validation.probeKey.rawValue + ".html") else { return }
        let demand = HTTPTransfer.Field("x-detect-content-type", "true")
        let guessed = await upload(headers(of: body), as: page, with: demand)
        var isPage = false
        if guessed.isDone {
            let type = await ask("HEAD", .head, of: page).answer?.field("content-type")
            isPage = type?.utf8.starts(with: "text/html".utf8) ?? false
        }
        await remove(page, writtenBy: guessed)
        judge(.unsignedType, guessed, isObeyed: isPage)
    }

    private mutating func tryOtherBytes() async {
        let wrong = DigestAlgorithm.sha256.digest(of: Array("other bytes".utf8))
        var claim = headers(of: body, claiming: wrong)
        if !bucket.honoursUnsignedHeaders { claim.append(NamedValue("x-amz-checksum-sha256", wrong.base64)) }
        let unchecked = await upload(claim)
        judge(.checksum, unchecked, isObeyed: unchecked.isDone)
    }

    private static func hold(_ text: [UInt8], _ word: String) -> Bool {
        String(decoding: text, as: UTF8.self).contains(word)
    }

    /// The preflight request of a browser before a page of an origin uploads.
    mutating func tryPreflight(from origin: String) async {
        guard wasReached else { return skip(.preflight, origin: origin) }
        let fields: [HTTPTransfer.Field] = [
            .init("origin", origin), .init("access-control-request-method", "PUT"),
            .init("access-control-request-headers", "content-type"),
        ]
        let reply = await ask("PUT", .options, at: linked, headers: [Self.type], fields: fields)
        note(.preflight, reply, origin: origin) { answer in
            let methods = (answer.field("access-control-allow-methods") ?? "").split(separator: ",")
                .map { $0.drop { $0 == " " } }
            return 200..<300 ~= answer.status
                && [origin, "*"].contains(answer.field("access-control-allow-origin"))
                && (methods.contains("PUT") || methods.contains("*"))
        }
    }

    /// Compares the time that the store notes for the object with the time at which the object was written. Answers may
    /// have the `Date` of a proxy, but objects have times by the store's own clock, and settling judges by these.
    private mutating func compareWriteTime(
        _ answer: HTTPTransfer.Answer?, between sentAt: Date, and answeredAt: Date
    ) {
        guard let noted = answer?.field("last-modified").flatMap({ SigningInstant(httpDate: $0) }) else {
            return skip(.writeTime)
        }
        // Whole seconds.
        let earliest = TimeInterval(noted.epochSeconds)
        let distance = max(sentAt.timeIntervalSince1970 - (earliest + 1), earliest - answeredAt.timeIntervalSince1970)
        let isClose = distance <= probe.maxClockDifference
        validation.findings.append(
            BucketValidation.Finding(
                step: .writeTime, outcome: isClose ? .passed : .warned, failure: isClose ? nil : .clockDifference))
    }

    /// What the store's answers say about its clock.
    mutating func compareClocks() {
        guard let difference = validation.clockDifference else { return skip(.clock) }
        let distance = abs(difference)
        validation.findings.append(
            BucketValidation.Finding(
                step: .clock, outcome: distance <= 30 ? .passed : distance <= 300 ? .warned : .failed,
                failure: distance <= 30 ? nil : .clockDifference))
    }
}

extension ProbeRound {
    /// What the URL of a request is signed for.
    private enum Signed: ExpressibleByStringLiteral {
        /// A method, from now on.
        case now(String)
        /// A method, for a time that is over.
        case expired(String)
        /// Nothing.
        case unsigned

        init(stringLiteral method: String) { self = .now(method) }
    }

    /// The result of a request.
    private struct Reply {
        var answer: HTTPTransfer.Answer?
        var failure: ProbeFailure?
        var duration: Duration?

        /// Whether the store carried out the request.
        var isDone: Bool { answer.map { 200..<300 ~= $0.status } ?? false }

        /// Whether the store may have carried out the request.
        var mayHaveWritten: Bool {
            if let answer { return 200..<300 ~= answer.status || answer.status >= 500 }
            return switch failure {
            case .timedOut, .unreadable: true
            default: false
            }
        }
    }

    /// Uploads with a link that binds some headers, and sends a header that it does not bind.
    private mutating func upload(
        _ headers: [NamedValue], _ bytes: [UInt8]? = nil, as key: ObjectKey? = nil,
        with unsigned: HTTPTransfer.Field? = nil
    ) async -> Reply {
        // libcurl sets the length.
        var fields = headers.filter { $0.name != "content-length" }.map { HTTPTransfer.Field($0.name, $0.value) }
        if let unsigned { fields.append(unsigned) }
        let reply = await ask("PUT", .put(body: bytes ?? body), of: key, headers: headers, fields: fields)
        if key == nil, let version = reply.answer.flatMap({ versionID(in: $0) }) { trialVersions.append(version) }
        return reply
    }

    /// Removes another object than the probe, which an upload may have written.
    private mutating func remove(_ key: ObjectKey, writtenBy reply: Reply) async {
        guard reply.mayHaveWritten else { return }
        let version = reply.answer.flatMap { versionID(in: $0) }.map { [$0] } ?? []
        let removal = await ask("DELETE", .delete, of: key, query: version, timeout: BucketProbe.removalTimeout)
        if !(removal.answer.map { 200..<300 ~= $0.status || $0.status == 404 } ?? false) { leavesOthers = true }
    }

    /// Notes the result of a request that the store should have refused or ignored.
    private mutating func judge(_ step: BucketValidation.Step, _ reply: Reply, isObeyed: Bool) {
        let failure: ProbeFailure? = isObeyed ? .unexpected : reply.failure
        validation.findings.append(
            BucketValidation.Finding(
                step: step, outcome: failure == nil ? .passed : .warned, failure: failure, status: reply.answer?.status,
                duration: reply.duration))
    }

    private mutating func ask(
        _ signed: Signed, _ method: HTTPTransfer.Method, of key: ObjectKey? = nil, at place: Bucket? = nil,
        headers: [NamedValue] = [], query: [NamedValue] = [], fields: [HTTPTransfer.Field]? = nil,
        timeout: Duration? = nil
    ) async -> Reply {
        let left = timeout ?? min(BucketProbe.stepTimeout, ContinuousClock.now.duration(to: deadline))
        guard left > .milliseconds(10) else { return Reply(failure: .timedOut) }
        let start = ContinuousClock.now
        do throws(OutboundError) {
            let place = place ?? bucket
            let url = try url(signed, key ?? validation.probeKey, place, headers, query)
            let sent = probe.now()
            let answer = try await probe.client.send(
                method, url.reveal(), fields: fields ?? headers.map { .init($0.name, $0.value) },
                maxBytes: BucketProbe.maxAnswerBytes, timeout: left)
            if place.endpoint == linked.endpoint { wasReached = true }
            noteClock(answer, sent)
            return Reply(answer: answer, duration: start.duration(to: ContinuousClock.now))
        } catch {
            return Reply(failure: ProbeFailure(error), duration: start.duration(to: ContinuousClock.now))
        }
    }

    private func url(
        _ signed: Signed, _ key: ObjectKey, _ place: Bucket, _ headers: [NamedValue], _ query: [NamedValue]
    ) throws(OutboundError) -> Secret<String> {
        let method: String
        var instant = probe.now()
        do throws(GatewayError) {
            switch signed {
            case .unsigned: return Secret(try probe.signer.unsignedURL(of: key, in: place))
            case .now(let signed): method = signed
            case .expired(let signed):
                method = signed
                instant.addTimeInterval(-BucketProbe.expiredFor)
            }
            guard let signer = place.hasCDNLinks ? cdnCredential : credential else {
                throw GatewayError.unavailable(retryAfter: 60, cause: "no credential signs for the bucket's CDN")
            }
            return try probe.signer.url(
                method, of: key, in: place, with: signer, headers: headers, query: query,
                expiresIn: BucketProbe.urlLife, at: instant)
        } catch {
            throw .notSignable
        }
    }

    /// The version of the object, so that its removal leaves no earlier version behind.
    private func versionID(in answer: HTTPTransfer.Answer) -> NamedValue? {
        let (field, name) =
            switch bucket.provider {
            case .aws, .s3: ("x-amz-version-id", "versionId")
            case .oss: ("x-oss-version-id", "versionId")
            case .gcs: ("x-goog-generation", "generation")
            }
        guard let id = answer.field(field), id != "null", id.consists(of: .visible, count: 1...1024) else { return nil }
        return NamedValue(name, id)
    }

    private mutating func noteClock(_ answer: HTTPTransfer.Answer, _ sent: Date) {
        guard validation.clockDifference == nil,
            let date = answer.field("date").flatMap({ SigningInstant(httpDate: $0) })
        else { return }
        // Dates have whole seconds, and the store wrote the answer between the two instants.
        let middle = sent.timeIntervalSince1970 / 2 + probe.now().timeIntervalSince1970 / 2
        validation.clockDifference = Int((Double(date.epochSeconds) + 0.5 - middle).rounded())
    }

    @discardableResult
    private mutating func note(
        _ step: BucketValidation.Step, _ reply: Reply, origin: String? = nil, endpoint: PublicEndpoint.Name? = nil,
        isAsHoped: (HTTPTransfer.Answer) -> Bool
    ) -> Bool {
        var finding = BucketValidation.Finding(
            step: step, outcome: .passed, origin: origin, endpoint: endpoint, failure: reply.failure,
            status: reply.answer?.status, duration: reply.duration)
        if let answer = reply.answer, !isAsHoped(answer) { finding.failure = ProbeFailure(answer) }
        if let failure = finding.failure { finding.outcome = Self.outcome(of: step, failure) }
        validation.findings.append(finding)
        return finding.failure == nil
    }

    /// Links also work with credentials that may neither remove nor list objects, and at endpoints that only others
    /// than the gateway reach.
    private static func outcome(of step: BucketValidation.Step, _ failure: ProbeFailure) -> BucketValidation.Outcome {
        if case .refused(403, _) = failure, step == .delete || step == .absent { return .warned }
        if step.isOfEndpoint, failure.isOutOfReach { return .skipped }
        return .failed
    }

    private mutating func skip(
        _ steps: BucketValidation.Step..., origin: String? = nil, endpoint: PublicEndpoint.Name? = nil
    ) {
        validation.findings += steps.map { .init(step: $0, outcome: .skipped, origin: origin, endpoint: endpoint) }
    }
}

extension ProbeFailure {
    /// The reason, in the words for admins, why a request had no answer.
    init(_ error: OutboundError) {
        self =
            switch error {
            case .notPermitted: .blocked
            case .notSignable: .notSignable
            case .noAnswer(.timedOut), .noAnswer(.cancelled): .timedOut
            case .noAnswer(.nameNotFound): .nameNotFound
            case .noAnswer(.notConnected), .noAnswer(.busy): .unreachable
            case .noAnswer(.tls): .tls
            case .noAnswer, .status: .unreadable
            }
    }

    /// Why an answer differs from the expected one.
    fileprivate init(_ answer: HTTPTransfer.Answer) {
        switch answer.status {
        case 200..<300: self = .unexpected
        case 300..<400: self = .redirected(region: Self.region(answer))
        default:
            let code = StoreErrorCode.read(answer)
            let isElsewhere = code == "AuthorizationHeaderMalformed" || code == "PermanentRedirect"
            if isElsewhere, let region = Self.region(answer) {
                self = .redirected(region: region)
            } else {
                self = .refused(status: answer.status, code: code)
            }
        }
    }

    private static func region(_ answer: HTTPTransfer.Answer) -> String? {
        answer.field("x-amz-bucket-region").flatMap { region in
            region.consists(of: .lowerAlphanumeric.union("-"), count: 1...32) ? region : nil
        }
    }
}
