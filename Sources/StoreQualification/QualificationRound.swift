import FoundationEssentials
import GatewayCore
import LibCrypto
import Signing

/// Tries one bucket with one scheme. Everything happens below one prefix.
actor QualificationRound {
    let bucket: Bucket
    let credential: StorageCredential
    let prefix: String
    let signer = URLSigner()
    let now: @Sendable () -> Date
    private let transport: StoreTransport
    private let time: CheckingTime
    private(set) var judgements: [Judgement] = []
    private(set) var requests = 0
    /// Whether a check was not made because the time was up.
    private(set) var isCutShort = false
    /// Keys that objects may have, and the versions that the store told.
    private var touched: [String: Set<String>] = [:]
    /// Keys to which an upload was sent that got no answer.
    private var unanswered: Set<String> = []
    /// Uploads in parts that were started, and neither completed nor aborted as far as the store told.
    private var uploads: [(id: String, key: String)] = []

    static let type = "image/png"
    static let body = Array("the bytes of an object that sluice qualify made".utf8)
    static let life = 300

    init(
        _ bucket: Bucket, _ credential: StorageCredential, prefix: String, transport: @escaping StoreTransport,
        now: @escaping @Sendable () -> Date, time: CheckingTime
    ) {
        self.bucket = bucket
        self.credential = credential
        self.prefix = prefix
        self.transport = transport
        self.now = now
        self.time = time
    }

    /// A key that nothing else uses. All its characters are written in a URL as they are.
    func freshKey(_ name: String = "object.bin") -> String {
        let key = "\(prefix)\(UUID().uuidString.lowercased())/\(name)"
        touched[key] = []
        return key
    }

    /// Notes a key that a changed request may write to.
    func touch(_ key: String) { touched[key, default: []].formUnion([]) }

    /// Notes an upload in parts that was started.
    func touch(upload: String, of key: String) { uploads.append((upload, key)) }

    /// Notes that an upload is completed.
    func forget(upload: String) { uploads.removeAll { $0.id == upload } }

    /// Sends a request; `nil` without an answer, or when the time is up.
    func send(_ call: StoreCall, to key: String? = nil, cleaning: Bool = false) async -> StoreAnswer? {
        guard cleaning ? !time.isCleaningOver : !isTimeUp() else { return nil }
        requests += 1
        let answer = await transport(call)
        if let key, let version = answer?.version { touched[key, default: []].insert(version) }
        // It may arrive after the removal.
        if let key, answer == nil, ["PUT", "POST"].contains(call.method) { unanswered.insert(key) }
        return answer
    }

    /// Whether no more checks may be made. Whoever asks has one to make.
    func isTimeUp() -> Bool {
        if time.isOver { isCutShort = true }
        return isCutShort
    }

    /// Why there is no judgement: because of what is named, unless the checks had ended.
    func why(_ reason: String = "no answer") -> String { isCutShort ? "the checks had ended" : reason }

    /// Records a judgement.
    func judge(
        _ delivery: Delivery, _ promise: StorePromise, _ check: String, _ verdict: Verdict, _ detail: String,
        isOpen: Bool = false
    ) {
        judgements.append(
            Judgement(
                scheme: bucket.scheme, delivery: delivery, promise: promise, check: check, verdict: verdict,
                detail: detail, isOpen: isOpen))
    }

    /// Records that nothing is judged because the store was in trouble, something that the check needs failed, or the
    /// checks had ended.
    func leaveOpen(_ delivery: Delivery, _ promise: StorePromise, _ check: String, _ detail: String) {
        judge(delivery, promise, check, .notJudged, detail, isOpen: !isCutShort)
    }

    /// Returns an answer that tells something about its request. Records that nothing is judged, and returns `nil`,
    /// if none came or the store was too busy or in trouble.
    func conclusive(
        _ delivery: Delivery, _ promise: StorePromise, _ check: String, _ answer: StoreAnswer?
    ) -> StoreAnswer? {
        if let answer, !answer.isOpen { return answer }
        leaveOpen(delivery, promise, check, answer?.summary ?? why())
        return nil
    }

    /// Records that something works as it was permitted. Returns whether it does.
    @discardableResult
    func expectWorks(
        _ delivery: Delivery, _ check: String, _ answer: StoreAnswer?, where isRight: (StoreAnswer) -> Bool
    ) -> Bool {
        guard let answer = conclusive(delivery, .works, check, answer) else { return false }
        let works = isRight(answer)
        judge(delivery, .works, check, works ? .kept : .broken, answer.summary)
        return works
    }

    /// What lies at a key.
    enum Found: Equatable {
        case nothing
        case object([UInt8])
        case unknown
    }

    /// Looks at a key by a link of its own.
    func look(at key: String) async -> Found {
        guard
            let url = try? signer.url(
                "GET", of: ObjectKey(key), in: bucket, with: credential, expiresIn: 60, at: now()),
            let answer = await send(StoreCall(method: "GET", url: url.reveal(), headers: []))
        else { return .unknown }
        switch answer.status {
        case 200: return .object(answer.body)
        case 404: return .nothing
        default: return .unknown
        }
    }

    /// Records whether the store refused an upload, by what lies at its key afterwards: a store may answer anything.
    func expectRefused(
        _ delivery: Delivery, _ promise: StorePromise, _ check: String, at key: String, _ answer: StoreAnswer?,
        unless former: [UInt8]? = nil
    ) async {
        guard let answer else { return leaveOpen(delivery, promise, check, why()) }
        switch await look(at: key) {
        case .nothing where former != nil:
            judge(delivery, promise, check, .broken, answer.summary)
        case .object(let bytes) where bytes != former:
            judge(delivery, promise, check, .broken, "\(answer.summary), and the object is there")
        case .unknown where answer.isSuccess:
            leaveOpen(delivery, promise, check, why("the object could not be read"))
        case _ where answer.isOpen:
            leaveOpen(delivery, promise, check, answer.summary)
        case .unknown where !(400..<500 ~= answer.status):
            leaveOpen(delivery, promise, check, answer.summary)
        case .nothing, .object, .unknown:
            judge(delivery, promise, check, .kept, answer.summary)
        }
    }

    /// Records whether the store refused to read.
    func expectUnread(
        _ delivery: Delivery, _ promise: StorePromise, _ check: String, _ answer: StoreAnswer?
    ) {
        guard let answer = conclusive(delivery, promise, check, answer) else { return }
        let verdict: Verdict =
            answer.isSuccess || answer.status == 304 ? .broken : 300..<500 ~= answer.status ? .kept : .notJudged
        judge(delivery, promise, check, verdict, answer.summary)
    }

    /// Aborts an upload in parts. Returns whether the upload has gone.
    @discardableResult
    func abort(_ upload: String, _ key: String) async -> Bool {
        guard let url = url("DELETE", key, [], [NamedValue("uploadId", upload)]),
            let answer = await send(StoreCall(method: "DELETE", url: url, headers: []), cleaning: true),
            answer.isRemoval
        else { return false }
        forget(upload: upload)
        return true
    }

    /// Removes what was made.
    ///
    /// - Returns: What is still there, or may be: keys, and uploads in parts.
    func clean() async -> [String] {
        for upload in uploads { await abort(upload.id, upload.key) }
        var left = uploads.map { "\($0.key), upload \($0.id)" }
        for (key, versions) in touched.sorted(by: { $0.key < $1.key }) {
            var isGone = true
            if versions.isEmpty {
                let answer = await remove(key)
                isGone = answer?.isRemoval ?? false
                // A bucket that keeps versions answers with the version of the marker that the removal left.
                if isGone, let marker = answer?.version {
                    isGone = await remove(key, version: marker)?.isRemoval ?? false
                }
            }
            for version in versions.sorted() {
                let isRemoved = await remove(key, version: version)?.isRemoval ?? false
                isGone = isGone && isRemoved
            }
            if !isGone || unanswered.contains(key) { left.append(key) }
        }
        (touched, uploads, unanswered) = ([:], [], [])
        return left
    }

    /// Removes an object, or one version of it.
    private func remove(_ key: String, version: String? = nil) async -> StoreAnswer? {
        let parameter = bucket.provider == .gcs ? "generation" : "versionId"
        guard let object = try? ObjectKey(key),
            let url = try? signer.url(
                "DELETE", of: object, in: bucket, with: credential,
                query: version.map { [NamedValue(parameter, $0)] } ?? [], expiresIn: 60, at: now())
        else { return nil }
        return await send(StoreCall(method: "DELETE", url: url.reveal(), headers: []), cleaning: true)
    }
}

extension QualificationRound {
    /// The link of an upload, as users get it.
    func uploadLink(
        _ key: String, _ body: [UInt8], bindsMD5: Bool = true, secondsAgo: Int = 0, expiresIn: Int = life,
        _ change: (inout IssueRequest.Fields) -> Void = { _ in }
    ) throws(GatewayError) -> TrialLink {
        var fields = fields(key, body, bindsMD5: bindsMD5)
        change(&fields)
        return try signer.trial(
            fields, in: bucket, with: credential, expiresIn: expiresIn,
            at: now().addingTimeInterval(-TimeInterval(secondsAgo)))
    }

    /// The members of a request for an upload of these bytes.
    func fields(_ key: String, _ body: [UInt8], bindsMD5: Bool) -> IssueRequest.Fields {
        var fields = IssueRequest.Fields()
        fields.action = Action.putObject.rawValue
        fields.bucket = bucket.name.rawValue
        fields.key = key
        fields.contentType = Self.type
        if bucket.trialBinding.bindsLength { fields.contentLength = Int64(body.count) }
        if bindsMD5 { fields.contentMD5 = DigestAlgorithm.md5.digest(of: body).base64 }
        if bucket.trialBinding.requiresSHA256 {
            fields.checksumSHA256 = DigestAlgorithm.sha256.digest(of: body).base64
        }
        return fields
    }

    /// The link of a download, as users get it.
    func downloadLink(
        _ key: String, secondsAgo: Int = 0, expiresIn: Int = life,
        _ change: (inout IssueRequest.Fields) -> Void = { _ in }
    ) throws(GatewayError) -> TrialLink {
        var fields = IssueRequest.Fields()
        fields.action = Action.getObject.rawValue
        fields.bucket = bucket.name.rawValue
        fields.key = key
        change(&fields)
        return try signer.trial(
            fields, in: bucket, with: credential, expiresIn: expiresIn,
            at: now().addingTimeInterval(-TimeInterval(secondsAgo)))
    }

    /// Sends what a link is for.
    func use(_ link: TrialLink, _ body: [UInt8]? = nil, key: String? = nil) async -> StoreAnswer? {
        await send(StoreCall(link, body), to: key)
    }

    /// Puts an object in place.
    func place(_ body: [UInt8], at key: String) async -> Bool {
        guard let link = try? uploadLink(key, body) else { return false }
        return await use(link, body, key: key)?.isSuccess == true
    }
}

extension StoreCall {
    init(_ link: TrialLink, _ body: [UInt8]? = nil) {
        // The transport writes the length itself.
        self.init(
            method: link.method, url: link.url, headers: link.headers.filter { $0.name != "content-length" }, body: body
        )
    }

    /// The call with another value of a header, or without it.
    func with(header name: String, _ value: String?) -> StoreCall {
        var call = self
        call.headers.removeAll { $0.name.lowercased() == name }
        if let value { call.headers.append(NamedValue(name, value)) }
        return call
    }

    func with(url: String) -> StoreCall {
        var call = self
        call.url = url
        return call
    }

    func with(method: String) -> StoreCall {
        var call = self
        call.method = method
        return call
    }

    func with(body: [UInt8]?, isChunked: Bool = false) -> StoreCall {
        var call = self
        call.body = body
        call.isChunked = isChunked
        return call
    }
}
