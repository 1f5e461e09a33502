import Foundation
import GatewayCore
import HTTPServing
import HTTPTesting
import HTTPTypes
import Synchronization
import Signing
import TestSupport
import Testing

@testable import GatewayCloud

/// How the gateway interprets the answers of stores, and of intermediaries in front of them.
@Suite(.timeLimit(.minutes(2))) struct MultipartAnswerTests {
    private static let parts = [
        (1, "5d41402abc4b2a76b9719d911017c592"), (2, "7d793037a0760186574b0282f2f435e7"),
    ].compactMap { try? UploadedPart(number: $0, etag: $1) }
    private static let unknown = GatewayError.unavailable(retryAfter: 5)
    private static let result = "<CompleteMultipartUploadResult><ETag>\"abc-2\"</ETag></CompleteMultipartUploadResult>"

    private static func error(_ code: String) -> String { "<Error><Code>\(code)</Code><Message>x</Message></Error>" }

    /// Bodies that are no valid answer, under any status.
    private static let noise = [
        "", " ", "{}", "<html><body>Bad gateway</body></html>", "<InitiateMultipartUploadResult>",
        "<CompleteMultipartUploadResult><ETag>abc-2</ETag>", "<!DOCTYPE x><CompleteMultipartUploadResult/>",
        "<ListBucketResult/>", "<error><Code>AccessDenied</Code></error>",
        "\(error("AccessDenied"))\(error("AccessDenied"))", "<a>" + String(repeating: " ", count: 70_000) + "</a>",
    ]

    /// Runs `body` with an open upload at a store. The store gives the last answer to `HEAD` requests, and the first to
    /// all others.
    private func atStore(
        _ answers: [(Int, String)], _ body: @escaping @Sendable (UploadDesk, MultipartUpload) async throws -> Void
    ) async throws -> [RequestHead] {
        let peer = StandIn { [answers] request in
            // Chosen by the kind of request, so that a question in between takes no other request's answer.
            let (status, text) = answers[request.head.method == .head ? answers.count - 1 : 0]
            return .bytes(request.head.method == .head ? "" : text, status: HTTPResponse.Status(code: status))
        }
        try await peer.serve { origin in
            let desk = try UploadDesk(StoreRows(endpoint: origin), reachedAt: origin)
            try await body(desk, desk.openUpload("id-1"))
        }
        return peer.heads
    }

    @Test(arguments: noise) func `an answer that is none leaves it open what became of the parts`(text: String)
        async throws
    {
        _ = try await atStore([(200, text)]) { desk, upload in
            await #expect(throws: Self.unknown) { try await desk.complete(upload.id, Self.parts) }
            // The parts may be an object by now: no more parts are allowed, but another attempt is.
            #expect(desk.rows.state(of: upload.id) == .completing)
            await #expect(throws: Self.unknown) { try await desk.complete(upload.id, Self.parts) }
            #expect(desk.rows.state(of: upload.id) == .completing)
        }
    }

    @Test func `asking again ends what an unreadable answer left open`() async throws {
        let peer = StandIn { _ in .bytes("<html/>") }
        let later = StandIn { _ in .bytes(Self.result) }
        let rows = try await peer.serve { origin in
            let desk = try UploadDesk(StoreRows(endpoint: origin), reachedAt: origin)
            let upload = try await desk.openUpload("id-1")
            await #expect(throws: Self.unknown) { try await desk.complete(upload.id, Self.parts) }
            return try #require(await desk.rows.find(upload.id))
        }
        try await later.serve { origin in
            let desk = try UploadDesk(StoreRows(endpoint: origin), reachedAt: origin)
            try await desk.rows.insert(rows)
            let done = try await desk.complete(rows.id, Self.parts)
            #expect(done.state == .completed && done.etag == "abc-2")
            #expect(desk.rows.state(of: rows.id) == .completed)
        }
    }

    @Test(arguments: [
        (200, "AccessDenied", GatewayError.storeRefused(status: 200, code: "AccessDenied")),
        (403, "AccessDenied", .storeRefused(status: 403, code: "AccessDenied")),
        (403, "<b/>", .storeRefused(status: 403, code: nil)), (403, "a b", .storeRefused(status: 403, code: nil)),
        (403, String(repeating: "A", count: 65), .storeRefused(status: 403, code: nil)),
        (307, "TemporaryRedirect", .storeRefused(status: 307, code: "TemporaryRedirect")),
    ])
    func `a refusal that does not blame the parts leaves it open what became of them`(
        status: Int, code: String, error: GatewayError
    ) async throws {
        _ = try await atStore([(status, Self.error(code))]) { desk, upload in
            await #expect(throws: error) { try await desk.complete(upload.id, Self.parts) }
            #expect(desk.rows.state(of: upload.id) == .completing)
            let row = try #require(await desk.rows.find(upload.id))
            #expect(row.parts == Self.parts)
        }
    }

    /// What is at the key of an upload.
    enum Key: CaseIterable {
        case holdsOwn, holdsOther, free
        /// An object of Alibaba OSS that may be this upload's or another's, as far as its tag tells.
        case holdsAlike
    }

    private static func object(tagged etag: String?) -> ServerResponse {
        ServerResponse(
            head: ResponseHead(status: .ok, headerFields: [.eTag: "\"\(etag ?? "")\""]), body: .bytes([]))
    }

    private static var alike: ServerResponse {
        var answer = object(tagged: "9AA9C1783224A1536D3F1E222C9C791B-2")
        if let name = HTTPField.Name("x-oss-object-type") { answer.head.headerFields[name] = "Multipart" }
        let now = SigningInstant(clampingEpochSeconds: Int64(Date().timeIntervalSince1970))
        answer.head.headerFields[.lastModified] = now.httpDate
        return answer
    }

    /// What an abort finds at the store: whether the object of the parts is there, and what it answers to the abort.
    /// The upload was being completed. The oracle: only the store's own word ends an upload, and an object that is
    /// there completes it, but not before the store was asked to discard parts. Only a tag of theirs tells which parts
    /// it has.
    @Test(
        arguments: Key.allCases,
        [
            (204, ""), (404, "NoSuchUpload"), (404, "NoSuchBucket"), (404, "NoSuchKey"), (404, ""),
            (403, "AccessDenied"),
            (503, "SlowDown"),
        ])
    func `an abort of an upload whose completion got no answer`(key: Key, answer: (Int, String)) async throws {
        let (status, code) = answer
        let peer = StandIn { request in
            switch request.head.method {
            case .head where key == .free: .bytes("", status: .notFound)
            case .head where key == .holdsAlike: Self.alike
            case .head: Self.object(tagged: key == .holdsOwn ? Self.expectedETag : "other")
            case .post: .bytes("<html/>")
            default: .bytes(code.isEmpty ? "" : Self.error(code), status: HTTPResponse.Status(code: status))
            }
        }
        try await peer.serve { origin in
            let desk = try UploadDesk(StoreRows(endpoint: origin), reachedAt: origin)
            let upload = try await desk.openUpload("id-1")
            await #expect(throws: Self.unknown) { try await desk.complete(upload.id, Self.parts) }
            let thrown: GatewayError?
            do throws(any Error) {
                try await desk.abort(upload.id, inRequest: "r-2")
                thrown = nil
            } catch { thrown = error as? GatewayError }
            let isAnswered = status == 204 || ["NoSuchUpload", "NoSuchBucket"].contains(code)
            let isOwn = key == .holdsOwn || key == .holdsAlike && status != 204
            let isLeft: MultipartUpload.State = [.holdsOwn, .holdsAlike].contains(key) ? .completing : .aborting
            let state: MultipartUpload.State = !isAnswered ? isLeft : isOwn ? .completed : .aborted
            #expect(desk.rows.state(of: upload.id) == state)
            // An upload that is completed, or may be, was not aborted.
            #expect(desk.rows.audited == ([.aborting, .aborted].contains(state) ? ["r-2"] : []))
            if case .completed(_, _, let isCertain) = desk.rows.lastChange { #expect(isCertain == (key == .holdsOwn)) }
            switch (isAnswered, isOwn) {
            case (true, true): #expect(thrown == .conflict(reason: "The upload is completed."))
            case (true, false): #expect(thrown == nil)
            default: #expect(thrown != nil)
            }
            #expect(peer.heads.map(\.method) == [.post, .head, .delete])
        }
    }

    @Test(
        arguments: ["InvalidPart", "InvalidPartOrder", "InvalidDigest", "MalformedXML", "EntityTooSmall"], [200, 400])
    func `parts that are to blame are named`(code: String, status: Int) async throws {
        _ = try await atStore([(status, Self.error(code))]) { desk, upload in
            let thrown = await #expect(throws: GatewayError.self) { try await desk.complete(upload.id, Self.parts) }
            guard case .invalidArgument("parts", _) = thrown else {
                Issue.record("\(String(describing: thrown))")
                return
            }
            #expect(desk.rows.state(of: upload.id) == .open)
        }
    }

    @Test(arguments: [(200, "InternalError"), (200, "SlowDown"), (500, "InternalError"), (503, "SlowDown"), (502, "")])
    func `a store in trouble may be asked again`(status: Int, code: String) async throws {
        _ = try await atStore([(status, Self.error(code))]) { desk, upload in
            await #expect(throws: Self.unknown) { try await desk.complete(upload.id, Self.parts) }
            #expect(desk.rows.state(of: upload.id) == .completing)
        }
    }

    /// Ceph answers so while an equal completion is at work. A list has the store's answer to each completion.
    @Test(
        arguments: [
            ([(500, "InternalError"), (200, "")], MultipartUpload.State.completed, [.post, .post]),
            ([(200, "InternalError"), (500, "InternalError"), (200, "")], .completed, [.post, .post, .post]),
            ([(500, "InternalError"), (404, "NoSuchUpload")], .completed, [.post, .post, .head]),
            ([(500, "InternalError"), (400, "InvalidPart")], .open, [.post, .post]),
            ([(503, "SlowDown"), (200, "")], .completing, [.post]), ([(500, "")], .completing, [.post]),
        ] as [([(Int, String)], MultipartUpload.State, [HTTPRequest.Method])])
    func `a completion that failed at the store is repeated`(
        answers: [(Int, String)], state: MultipartUpload.State, methods: [HTTPRequest.Method]
    ) async throws {
        let asked = Atomic(0)
        let peer = StandIn { [answers] request in
            guard request.head.method == .post else { return Self.object(tagged: Self.expectedETag) }
            let (status, code) = answers[asked.add(1, ordering: .relaxed).oldValue]
            return .bytes(code.isEmpty ? Self.result : Self.error(code), status: HTTPResponse.Status(code: status))
        }
        try await peer.serve { origin in
            let desk = try UploadDesk(StoreRows(endpoint: origin), reachedAt: origin)
            let upload = try await desk.openUpload("id-1")
            let done = try? await desk.complete(upload.id, Self.parts)
            #expect(desk.rows.state(of: upload.id) == state && done?.state == (state == .completed ? state : nil))
            #expect(peer.heads.map(\.method) == methods)
        }
    }

    /// The completion that was sent before the one that the store answers.
    enum Before: CaseIterable {
        case none, unanswered, unansweredOfOthers, failed
    }

    /// What a store tells of the object at the key of an upload that it does not know any more.
    struct Found: Sendable {
        var status = 200
        var etag: String?
        /// Whether the store made the object in a way of its own, as Alibaba OSS tells.
        var isOfOSS = false
        var age: TimeInterval = 0
        let isOwn: Bool
    }

    /// An object whose tag does not tell its parts may be that of another upload of the key, unless a completion of
    /// this one was sent before. Even then somebody else may have completed this one from other parts.
    @Test(
        arguments: [
            Found(etag: expectedETag, isOwn: true), Found(etag: expectedETag?.uppercased(), isOwn: true),
            Found(etag: "9aa9c1783224a1536d3f1e222c9c791b-2", isOwn: false), Found(isOwn: false),
            Found(status: 404, etag: expectedETag, isOwn: false),
            Found(etag: "9AA9C1783224A1536D3F1E222C9C791B-2", isOfOSS: true, isOwn: true),
            Found(etag: "9AA9C1783224A1536D3F1E222C9C791B-3", isOfOSS: true, isOwn: false),
            Found(etag: "9AA9C1783224A1536D3F1E222C9C791B-2", isOfOSS: true, age: 86_400, isOwn: false),
        ], Before.allCases)
    func `an upload that the store does not know any more is one that it completed, or lost`(
        found: Found, before: Before
    ) async throws {
        let asked = Atomic(0)
        let peer = StandIn { request in
            guard request.head.method == .head else {
                let isFirst = asked.add(1, ordering: .relaxed).oldValue == 0
                switch before {
                case .unanswered where isFirst, .unansweredOfOthers where isFirst: return .bytes("<html/>")
                case .failed where isFirst: return .bytes(Self.error("InternalError"), status: .internalServerError)
                default: return .bytes(Self.error("NoSuchUpload"), status: .notFound)
                }
            }
            var answer = ResponseHead(status: HTTPResponse.Status(code: found.status))
            if let etag = found.etag { answer.headerFields[.eTag] = "\"\(etag)\"" }
            if found.isOfOSS { answer.headerFields[HTTPField.Name("x-oss-object-type")!] = "Multipart" }
            let modifiedAt = Int64(Date().timeIntervalSince1970 - found.age)
            answer.headerFields[.lastModified] = SigningInstant(clampingEpochSeconds: modifiedAt).httpDate
            return ServerResponse(head: answer, body: .bytes([1]))
        }
        try await peer.serve { origin in
            let desk = try UploadDesk(StoreRows(endpoint: origin), reachedAt: origin)
            let upload = try await desk.openUpload("id-1")
            if before == .unanswered || before == .unansweredOfOthers {
                let parts = before == .unanswered ? Self.parts : Array(Self.parts.prefix(1))
                await #expect(throws: Self.unknown) { try await desk.complete(upload.id, parts) }
            }
            let wasSent = before == .unanswered || before == .failed
            if before == .unansweredOfOthers {
                // The store may still make the object from the others.
                let error = await #expect(throws: GatewayError.self) { try await desk.complete(upload.id, Self.parts) }
                #expect("\(error, default: "")".contains("lists other parts"))
            } else if found.isOwn, wasSent || !found.isOfOSS {
                let done = try await desk.complete(upload.id, Self.parts)
                #expect(done.etag == found.etag)
                #expect(
                    desk.rows.lastChange == .completed(Self.parts, etag: found.etag, isCertain: !found.isOfOSS))
            } else {
                await #expect(throws: GatewayError.conflict(reason: "The store no longer knows the upload.")) {
                    try await desk.complete(upload.id, Self.parts)
                }
            }
        }
        let methods: [HTTPRequest.Method] =
            switch before {
            case .none: [.post, .head]
            case .unansweredOfOthers: [.post]
            case .unanswered, .failed: [.post, .post, .head]
            }
        #expect(peer.heads.map(\.method) == methods)
    }

    private static var expectedETag: String? {
        guard let key = try? ObjectKey("k"), let bucket = try? BucketName("photos"), let type = MediaType("a/b"),
            let principal = try? Principal("user:alice")
        else { return nil }
        return MultipartUpload(
            id: UUID(), principal: principal, bucket: bucket, key: key, contentType: type, contentLength: nil,
            state: .open, parts: parts, createdAt: .distantPast, expiresAt: .distantPast
        ).expectedETag
    }

    @Test(arguments: ["", "<ETag/>", "<ETag>\"&lt;b&gt;\"</ETag>", "<ETag>a b</ETag>", "<ETag>x</ETag><ETag>y</ETag>"])
    func `an object without a tag that can be passed on has the one of its parts`(tag: String) async throws {
        let answer = "<CompleteMultipartUploadResult>\(tag)</CompleteMultipartUploadResult>"
        _ = try await atStore([(200, answer)]) { desk, upload in
            let done = try await desk.complete(upload.id, Self.parts)
            #expect(done.state == .completed && done.etag == Self.expectedETag)
        }
    }

    private static let hostileStarts =
        noise + [
            error("AccessDenied"), result, "<InitiateMultipartUploadResult/>",
            "<InitiateMultipartUploadResult><UploadId></UploadId></InitiateMultipartUploadResult>",
            "<InitiateMultipartUploadResult><UploadId>a b</UploadId></InitiateMultipartUploadResult>",
            "<InitiateMultipartUploadResult><UploadId>a&#10;b</UploadId></InitiateMultipartUploadResult>",
            "<InitiateMultipartUploadResult><UploadId>ü</UploadId></InitiateMultipartUploadResult>",
            "<InitiateMultipartUploadResult><UploadId>a</UploadId><UploadId>b</UploadId></InitiateMultipartUploadResult>",
            "<InitiateMultipartUploadResult><a><UploadId>a</UploadId></a></InitiateMultipartUploadResult>",
            "<InitiateMultipartUploadResult><UploadId>\(String(repeating: "a", count: 1025))</UploadId>"
                + "</InitiateMultipartUploadResult>",
        ]

    @Test(arguments: hostileStarts) func `an identifier that is none starts nothing`(text: String) async throws {
        let peer = StandIn { _ in .bytes(text) }
        try await peer.serve { origin in
            let desk = try UploadDesk(StoreRows(endpoint: origin), reachedAt: origin)
            await #expect(throws: Self.unknown) { try await desk.start() }
            // The upload may have been started.
            let rows = try await desk.rows.list(ListQuery(pageSize: 10)).items
            #expect(rows.map(\.state) == [.starting])
        }
    }

    @Test func `a refusal to start leaves nothing to clean up`() async throws {
        let peer = StandIn { _ in .bytes(Self.error("AccessDenied"), status: .forbidden) }
        try await peer.serve { origin in
            let desk = try UploadDesk(StoreRows(endpoint: origin), reachedAt: origin)
            await #expect(throws: GatewayError.storeRefused(status: 403, code: "AccessDenied")) {
                try await desk.start()
            }
            #expect(try await desk.rows.list(ListQuery(pageSize: 10)).items.map(\.state) == [.aborted])
        }
    }

    @Test(arguments: [
        (200, "", nil), (204, "", nil), (404, "NoSuchUpload", nil), (404, "NoSuchBucket", nil),
        (404, "NoSuchKey", GatewayError.storeRefused(status: 404, code: "NoSuchKey")),
        (404, "", .storeRefused(status: 404, code: nil)), (403, "", .storeRefused(status: 403, code: nil)),
        (500, "", unknown),
    ])
    func `an upload is forgotten when the store says so`(status: Int, code: String, error: GatewayError?) async throws {
        _ = try await atStore([(status, code.isEmpty ? "" : Self.error(code))]) { desk, upload in
            if let error {
                await #expect(throws: error) { try await desk.abort(upload.id) }
                #expect(desk.rows.state(of: upload.id) == .aborting)
            } else {
                try await desk.abort(upload.id)
                #expect(desk.rows.state(of: upload.id) == .aborted)
            }
        }
    }

    @Test func `the audit has one row for an abort that an admin repeats`() async throws {
        let isReached = Atomic(false)
        let peer = StandIn { _ in
            .bytes("", status: isReached.exchange(true, ordering: .relaxed) ? .noContent : .internalServerError)
        }
        try await peer.serve { origin in
            let desk = try UploadDesk(StoreRows(endpoint: origin), reachedAt: origin)
            let upload = try await desk.openUpload("store-1")
            await #expect(throws: Self.unknown) { try await desk.abort(upload.id, inRequest: "r-2") }
            #expect(desk.rows.state(of: upload.id) == .aborting)
            for request in ["r-3", "r-4"] {
                try await desk.abort(upload.id, inRequest: request)
                #expect(desk.rows.state(of: upload.id) == .aborted)
            }
            #expect(desk.rows.audited == ["r-2"])
        }
    }

    /// A part that was on its way may have stayed at the store.
    @Test func `an aborted upload is discarded once more, and no other`() async throws {
        let peer = StandIn { _ in .bytes("", status: .noContent) }
        try await peer.serve { origin in
            let desk = try UploadDesk(StoreRows(endpoint: origin), reachedAt: origin)
            let upload = try await desk.openUpload("store-1")
            for id in [upload.id, UUID()] {
                await #expect(throws: StoreFailure.unasked("")) { try await desk.uploads.discardAgain(id) }
            }
            #expect(peer.requests.isEmpty)
            try await desk.abort(upload.id)
            try await desk.uploads.discardAgain(upload.id)
            #expect(peer.heads.map(\.method) == [.delete, .delete])
            #expect(peer.heads.allSatisfy { $0.target.contains("uploadId=store-1") })
            #expect(desk.rows.state(of: upload.id) == .aborted)
            // The answer to an attempt to complete it came late: its parts are in an object.
            _ = try await desk.rows.move(
                upload.id, from: [.aborted], to: .completed(Self.parts, etag: nil, isCertain: true))
            await #expect(throws: StoreFailure.unasked("")) { try await desk.uploads.discardAgain(upload.id) }
            #expect(peer.requests.count == 2)
        }
    }

    /// Rows of a bucket that is made at some time.
    private final class LateBucket: KeyedPolicy {
        let isMade = Atomic(false)
        private let made: StoreRows

        init(_ made: StoreRows) {
            self.made = made
        }

        var position: PolicyPosition { made.position }

        func load(
            _ keys: [PolicyKey], literalGrantLimit: Int
        ) async throws(GatewayError) -> PolicyLoad<[PolicyRows]> {
            var rows = made
            rows.hasBucket = isMade.load(ordering: .relaxed)
            return try await rows.load(keys, literalGrantLimit: literalGrantLimit)
        }

        func changes(since position: PolicyPosition?) async throws(GatewayError) -> PolicyChanges {
            try await made.changes(since: position)
        }
    }

    /// Other gateways have issued the parts. What this one did not ask is no proof that the store has discarded them.
    @Test func `an upload is discarded once more though the gateway remembers that there was no bucket`() async throws {
        let peer = StandIn { _ in .bytes("", status: .noContent) }
        try await peer.serve { origin in
            let source = LateBucket(StoreRows(endpoint: origin))
            let desk = try UploadDesk(source, reachedAt: origin)
            var upload = try await desk.openUpload("store-1")
            upload.state = .aborted
            try await desk.rows.insert(upload)
            try await desk.uploads.discardAgain(upload.id)
            #expect(peer.requests.isEmpty)
            source.isMade.store(true, ordering: .relaxed)
            try await desk.uploads.discardAgain(upload.id)
            #expect(peer.heads.map(\.method) == [.delete])
        }
    }

    /// No gateway can ask the store any more.
    @Test(arguments: [MultipartUpload.State.open, .completing, .aborting])
    func `an upload whose bucket was removed ends, and may be complete`(state: MultipartUpload.State) async throws {
        let peer = StandIn { _ in .bytes("", status: .noContent) }
        try await peer.serve { origin in
            var rows = StoreRows(endpoint: origin)
            rows.hasBucket = false
            let desk = try UploadDesk(rows, reachedAt: origin)
            var upload = try await desk.openUpload("store-1")
            upload.state = state
            try await desk.rows.insert(upload)
            try await desk.abort(upload.id, inRequest: "r-2")
            #expect(desk.rows.state(of: upload.id) == .aborted)
            #expect(desk.rows.lastChange == .aborted(as: "store-1", mayBeComplete: true))
            #expect(desk.rows.audited == (state == .aborting ? [] : ["r-2"]))
            try await desk.uploads.discardAgain(upload.id)
            #expect(peer.requests.isEmpty)
        }
    }

    @Test func `an admin whose credential has ended has nothing discarded`() async throws {
        let peer = StandIn { request in
            request.head.method == .head ? Self.object(tagged: Self.expectedETag) : .bytes("<html/>")
        }
        try await peer.serve { origin in
            let desk = try UploadDesk(StoreRows(endpoint: origin), reachedAt: origin)
            let upload = try await desk.openUpload("id-1")
            await #expect(throws: Self.unknown) { try await desk.complete(upload.id, Self.parts) }
            desk.rows.admitsAdmins = false
            await #expect(throws: GatewayError.staleCaller) { try await desk.abort(upload.id, inRequest: "r-2") }
            #expect(desk.rows.state(of: upload.id) == .completing && desk.rows.audited == [])
            #expect(peer.heads.map(\.method) == [.post, .head])
        }
    }

    /// Another gateway may have the key.
    @Test func `no upload ends where no master key opens the bucket's credential`() async throws {
        let peer = StandIn { _ in .bytes("", status: .noContent) }
        try await peer.serve { origin in
            var rows = StoreRows(endpoint: origin)
            rows.opensCredential = false
            let desk = try UploadDesk(rows, reachedAt: origin)
            for state in [MultipartUpload.State.open, .completing, .aborting] {
                var upload = try await desk.openUpload("store-1")
                upload.state = state
                try await desk.rows.insert(upload)
                await #expect(throws: GatewayError.self) { try await desk.uploads.clean(upload) }
                #expect(desk.rows.state(of: upload.id) == (state == .completing ? .completing : .aborting))
                upload.state = .aborted
                try await desk.rows.insert(upload)
                await #expect(throws: StoreFailure.self) { try await desk.uploads.discardAgain(upload.id) }
            }
            #expect(peer.requests.isEmpty)
        }
    }

    private static let gone = "<Error><Code>NoSuchUpload</Code></Error>"

    /// The parts of an upload are given back only then.
    @Test(arguments: [
        (200, "", true), (204, "", true), (404, gone, true), (404, "", false), (404, "<html></html>", false),
        (404, "<Error><Code>NoSuchBucket</Code></Error>", false), (403, "", false), (503, "", false),
    ])
    func `what is left of an aborted upload is gone when the store says so`(
        status: Int, body: String, isGone: Bool
    ) async throws {
        let isAborted = Atomic(false)
        let peer = StandIn { _ in
            guard isAborted.exchange(true, ordering: .relaxed) else { return .bytes("", status: .noContent) }
            return .bytes(body, status: HTTPResponse.Status(code: status))
        }
        try await peer.serve { origin in
            let desk = try UploadDesk(StoreRows(endpoint: origin), reachedAt: origin)
            let upload = try await desk.openUpload("store-1")
            try await desk.abort(upload.id)
            if isGone {
                try await desk.uploads.discardAgain(upload.id)
            } else {
                await #expect(throws: StoreFailure.unclear("")) { try await desk.uploads.discardAgain(upload.id) }
            }
        }
    }

    @Test func `a gateway that may not connect has not asked to discard`() async throws {
        let peer = StandIn { _ in .bytes("", status: .noContent) }
        try await peer.serve { origin in
            let desk = try UploadDesk(StoreRows(endpoint: origin), reachedAt: origin)
            let upload = try await desk.openUpload("store-1")
            try await desk.abort(upload.id)
            let barred = MultipartCalls(
                StoreCalls(
                    client: OutboundClient(policy: try OutboundPolicy(origins: [])),
                    cache: PolicyCache(source: StoreRows(endpoint: origin)), signer: URLSigner(), now: { Date() }))
            await #expect(throws: StoreFailure.unasked("")) { try await barred.discard("store-1", of: upload) }
            #expect(peer.requests.count == 1)
        }
    }
}
