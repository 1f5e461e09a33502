import Foundation
import GatewayCore
import Signing
import Synchronization
import TestSupport
import Testing

@testable import StoreQualification

/// Qualifications of stores that keep nothing, everything, or one thing less.
@Suite struct QualificationTests {
    private func qualify(
        _ transport: @escaping StoreTransport, schemes: [Bucket.Scheme] = [.awsV4], patience: Duration = .seconds(60)
    ) async throws -> QualificationReport {
        try await qualification(transport, patience: patience).run(schemes)
    }

    private func qualification(
        _ transport: @escaping StoreTransport, patience: Duration = .seconds(60)
    ) throws -> Qualification {
        let id = UUID()
        let bucket = Bucket(
            name: try BucketName("photos"), provider: .s3, endpoint: "https://store.example", region: "eu-west-1",
            addressing: .path, scheme: .awsV4, credentialID: id, createdAt: Date(timeIntervalSince1970: 0))
        let credential = StorageCredential(
            id: id, name: "main", accessKeyID: "AKIDEXAMPLE", secretAccessKey: Secret("made-up"),
            createdAt: Date(timeIntervalSince1970: 0))
        return Qualification(
            bucket, credential, opener: NoSessions(), transport: transport,
            now: { Date(timeIntervalSince1970: 1_900_000_000) }, patience: patience)
    }

    /// A store that checks no signature at all.
    private final class CarelessStore: Sendable {
        let objects = Mutex<[String: [UInt8]]>([:])
        let calls = Mutex<[StoreCall]>([])

        func answer(_ call: StoreCall) -> StoreAnswer {
            calls.withLock { $0.append(call) }
            let path = String(call.url.prefix { $0 != "?" })
            return objects.withLock { objects in
                switch call.method {
                case "PUT":
                    objects[path] = call.body ?? []
                    return StoreAnswer(status: 200)
                case "GET": return objects[path].map { StoreAnswer(status: 200, body: $0) } ?? StoreAnswer(status: 404)
                case "DELETE":
                    objects[path] = nil
                    return StoreAnswer(status: 204)
                default: return StoreAnswer(status: 200)
                }
            }
        }
    }

    @Test func `a store that checks nothing breaks every promise that was tried`() async throws {
        let store = CarelessStore()
        let report = try await qualify { store.answer($0) }
        #expect(report.isBroken)
        for promise in [
            .signature, .method, .key, .expiry, .contentType, .content, .size, .metadata, .nothingMore, .creationOnly,
        ] as [StorePromise] { #expect(report.verdict(on: promise) == .broken, "\(promise)") }
        #expect(report.verdict(on: .region) == .noted)
        let links = report.judgements.filter { $0.delivery == .presignedURL && $0.promise != .works }
        let kept = links.filter { $0.verdict == .kept }
        // The careless store ignores headers, so it publishes and copies nothing by them. POST writes nothing, and what
        // was not written cannot be read.
        #expect(
            kept.allSatisfy {
                $0.check.contains("copy-source") || QualificationReport.unsignedTimes.contains($0.check)
                    || $0.check.hasPrefix("x-detect") || $0.check.hasPrefix("POST") || $0.check.hasPrefix("metadata")
                    || $0.promise == .answerHeaders || $0.detail == "404"
            }, "\(kept)")
    }

    @Test func `every check is made, and none is made twice`() async throws {
        let store = CarelessStore()
        let report = try await qualify { store.answer($0) }
        let links = report.judgements.filter { $0.delivery == .presignedURL }.map(\.check)
        #expect(Set(links).count == links.count)
        #expect(
            Set(links) == [
                "upload", "upload, read back", "another key", "a key below", "another content type",
                "a parameter of the content type", "no content type",
                "other bytes, with the bound MD5", "other bytes, with their MD5", "other bytes, without MD5",
                "other metadata", "no metadata", "another signature", "no signature", "a later end",
                "a parameter more", "another region, not signed for", "DELETE with a link for PUT",
                "POST with a link for PUT", "GET with a link for PUT", "after its end", "signed for another region",
                "a byte more", "a byte less", "no bytes", "in chunks, a byte more",
                "other bytes than the bound SHA-256 is of", "creation", "a second upload", "without the condition",
                "x-amz-acl, unsigned", "x-amz-grant-read, unsigned", "x-amz-copy-source, unsigned",
                "x-delete-at, unsigned", "x-minio-source-mtime, unsigned", "x-detect-content-type, unsigned",
                "metadata, unsigned", "download",
                "download as an attachment",
                "another key, for a download",
                "another signature, for a download",
                "no signature, for a download", "no parameter, for a download", "a later end, for a download",
                "after its end, for a download", "PUT with a link for GET", "DELETE with a link for GET",
            ])
    }

    @Test func `nothing outside the prefix is touched, and everything is removed`() async throws {
        let store = CarelessStore()
        let report = try await qualify({ store.answer($0) }, schemes: [.awsV4, .awsV2])
        let place = "https://store.example/photos/" + report.prefix
        for call in store.calls.withLock({ $0 }) where call.method != "POST" || call.body == nil {
            #expect(call.url.hasPrefix(place), "\(call.method)")
        }
        #expect(store.objects.withLock { $0.keys.sorted() } == [])
        #expect(report.leftBehind == [] && report.requests == store.calls.withLock { $0.count })
        #expect(report.requests < 600)
    }

    /// A store that keeps versions: a removal without a version leaves a marker, which is a version itself.
    private final class VersionedStore: Sendable {
        private struct State {
            var versions: [String: [(id: String, body: [UInt8]?)]] = [:]
            var count = 0

            mutating func add(_ path: String, _ body: [UInt8]?) -> NamedValue {
                count += 1
                versions[path, default: []].append(("v\(count)", body))
                return NamedValue("x-amz-version-id", "v\(count)")
            }
        }

        private let state = Mutex(State())

        /// Paths that have versions or markers.
        var paths: [String] { state.withLock { $0.versions.filter { !$0.value.isEmpty }.keys.sorted() } }

        func answer(_ call: StoreCall) -> StoreAnswer {
            let parts = call.url.split(separator: "?", maxSplits: 1)
            let path = String(parts[0])
            let query = parts.count > 1 ? parts[1] : ""
            let version = query.split(separator: "&").first { $0.hasPrefix("versionId=") }?.dropFirst(10)
            return state.withLock { state in
                switch call.method {
                case "PUT": return StoreAnswer(status: 200, fields: [state.add(path, call.body ?? [])])
                case "GET":
                    let body = state.versions[path]?.last?.body
                    return body.map { StoreAnswer(status: 200, body: $0) } ?? StoreAnswer(status: 404)
                case "DELETE":
                    guard let version else { return StoreAnswer(status: 204, fields: [state.add(path, nil)]) }
                    state.versions[path]?.removeAll { $0.id == version }
                    return StoreAnswer(status: 204, fields: [NamedValue("x-amz-version-id", String(version))])
                default: return StoreAnswer(status: 403)
                }
            }
        }
    }

    @Test func `in a bucket that keeps versions, no version and no marker is left`() async throws {
        let store = VersionedStore()
        let report = try await qualify { store.answer($0) }
        #expect(report.leftBehind == [] && report.requests > 20)
        #expect(store.paths == [])
    }

    @Test func `a store that refuses everything does not work, and nothing else is said about it`() async throws {
        let report = try await qualify { call in StoreAnswer(status: call.method == "DELETE" ? 404 : 403) }
        #expect(report.isBroken && report.verdict(on: .works) == .broken)
        #expect(StorePromise.allCases.allSatisfy { $0 == .works || report.verdict(on: $0) == nil })
    }

    @Test func `an upload that got no answer may arrive after everything was removed`() async throws {
        let report = try await qualify { call in
            ["PUT", "POST"].contains(call.method) ? nil : StoreAnswer(status: call.method == "DELETE" ? 204 : 404)
        }
        #expect(!report.isBroken && report.leftBehind.contains { $0.hasSuffix("/object.bin") })
    }

    @Test func `without an answer, or without time, nothing is judged`() async throws {
        let silent = try await qualify { _ in nil }
        #expect(!silent.isBroken && silent.judgements.allSatisfy { $0.verdict == .notJudged })
        #expect(!silent.leftBehind.isEmpty, "what may have been written is named")
        #expect(!silent.isCutShort && silent.judgements.allSatisfy { $0.detail == "no answer" })
        #expect(silent.isInconclusive)
        let store = CarelessStore()
        let late = try await qualify({ store.answer($0) }, patience: .zero)
        #expect(!late.isBroken && late.judgements.allSatisfy { $0.verdict == .notJudged })
        #expect(late.isCutShort && late.judgements.allSatisfy { $0.detail == "the checks had ended" })
        #expect(!late.isInconclusive, "the checks ended early, and no more is known")
    }

    @Test(arguments: [403, 429, 503, nil])
    func `a change is not judged if the object cannot be read afterwards`(status: Int?) async throws {
        let store = CarelessStore()
        let report = try await qualify { call in
            call.method == "GET" ? status.map { StoreAnswer(status: $0) } : store.answer(call)
        }
        for check in ["another content type", "a byte more", "another key", "DELETE with a link for PUT"] {
            let judgement = report.judgements.first { $0.check == check }
            #expect(judgement?.verdict == .notJudged, "\(check)")
            #expect(judgement?.detail == "the object could not be read", "\(check)")
        }
        #expect(report.isInconclusive && !report.isCutShort)
    }

    @Test func `where the first upload finds a busy store, the report tells that checks are missing`() async throws {
        let report = try await qualify { StoreAnswer(status: $0.method == "PUT" ? 503 : 404) }
        #expect(report.judgements.map(\.check) == ["upload"] && report.judgements.map(\.detail) == ["503"])
        #expect(report.isInconclusive && !report.isBroken && !report.isCutShort && report.leftBehind == [])
    }

    /// How the store answers the start of an upload in parts, and whether the checks of parts are then still open.
    @Test(arguments: [(403, true), (503, true), (nil, true), (400, false), (501, false)] as [(Int?, Bool)])
    func `checks that do not apply to a store are not open`(status: Int?, isOpen: Bool) async throws {
        let store = CarelessStore()
        let report = try await qualify { call in
            call.method == "POST" && call.url.contains("uploads")
                ? status.map { StoreAnswer(status: $0) } : store.answer(call)
        }
        let start = report.judgements.filter { $0.check == "start of an upload in parts" }
        #expect(start.count == 1 && start.allSatisfy { $0.verdict == .notJudged && $0.isOpen == isOpen }, "\(start)")
        // The credential has no role for sessions.
        let session = report.judgements.first { $0.delivery == .sts }
        #expect(session?.verdict == .notJudged && session?.isOpen == false)
    }

    @Test(arguments: [
        ("InternalError", Verdict.notJudged, "200 InternalError"), ("SlowDown", .notJudged, "200 SlowDown"),
        ("InvalidPart", .broken, "200 InvalidPart"),
    ])
    func `a completion whose status precedes an error is judged by the error`(
        code: String, verdict: StoreQualification.Verdict, detail: String
    ) async throws {
        let store = CarelessStore()
        let report = try await qualify { call in
            var answer = store.answer(call)
            if call.method == "POST", call.url.contains("uploads") {
                answer.body = Array("<UploadId>upload-1</UploadId>".utf8)
            } else if call.method == "POST", call.url.contains("uploadId=upload-1") {
                answer.body = Array("<Error><Code>\(code)</Code></Error>".utf8)
            } else if call.method == "PUT" {
                answer.fields.append(NamedValue("etag", "\"0\""))
            }
            return answer
        }
        let judgement = report.judgements.first { $0.check == "completion" }
        #expect(judgement?.verdict == verdict && judgement?.detail == detail, "\(String(describing: judgement))")
        #expect(judgement?.isOpen == (verdict == .notJudged))
    }

    @Test(arguments: [429, 500, 503])
    func `of a store that is in trouble after the first upload, nothing is judged`(status: Int) async throws {
        let store = CarelessStore()
        let report = try await qualify { call in
            let answer = store.answer(call)
            return store.calls.withLock { $0.count } == 1 ? answer : StoreAnswer(status: status)
        }
        #expect(report.judgements.first?.check == "upload" && report.judgements.first?.verdict == .kept)
        let others = report.judgements.dropFirst().filter { $0.verdict != .notJudged }
        #expect(others.isEmpty, "\(others)")
        #expect(report.judgements.contains { $0.promise == .region && $0.detail == "\(status)" })
    }

    /// The misuse itself, or the reading after it.
    @Test(arguments: ["PUT", "GET"], [429, 503])
    func `a store in trouble does not tell whether it obeys what is unsigned`(
        method: String, status: Int
    ) async throws {
        let store = CarelessStore()
        let unsigned = [
            "x-amz-acl", "x-amz-grant-read", "x-amz-copy-source", "x-delete-at", "x-minio-source-mtime",
            "x-detect-content-type", "x-amz-meta-more",
        ]
        let report = try await qualify { call in
            let isMisuse = call.headers.contains { unsigned.contains($0.name) }
            return call.method == method && (isMisuse || method == "GET")
                ? StoreAnswer(status: status) : store.answer(call)
        }
        let misuses = report.judgements.filter { $0.promise == .nothingMore && $0.check.hasSuffix(", unsigned") }
        #expect(misuses.count == unsigned.count && misuses.allSatisfy { $0.verdict == .notJudged }, "\(misuses)")
        guard method == "GET" else { return }
        let type = report.judgements.first { $0.check == "the file's own type, in a form" }
        #expect(type?.verdict == .notJudged && type?.detail == "\(status)")
    }

    @Test(arguments: [429, 503])
    func `a store in trouble does not tell which headers of an answer are bound`(status: Int) async throws {
        let store = CarelessStore()
        let isBusy = Mutex(false)
        let report = try await qualify { call in
            if isBusy.withLock({ $0 }) { return StoreAnswer(status: status) }
            // The object stays for the checks that follow.
            guard call.method != "DELETE" else { return StoreAnswer(status: 403) }
            var answer = store.answer(call)
            if call.method == "GET", call.url.contains("response-content-disposition=attachment") {
                answer.fields.append(NamedValue("content-disposition", "attachment"))
                isBusy.withLock { $0 = true }
            }
            return answer
        }
        let headers = report.judgements.filter { $0.promise == .answerHeaders }
        #expect(headers.count == 5 && headers.allSatisfy { $0.verdict == .notJudged && $0.detail == "\(status)" })
    }

    @Test(arguments: [1, 3, 40, 80])
    func `after the stop no more is tried, and what was made is removed`(last: Int) async throws {
        let store = CarelessStore()
        let stop = Mutex<(@Sendable () -> Void)?>(nil)
        let qualification = try qualification { call in
            let answer = store.answer(call)
            if store.calls.withLock({ $0.count }) == last { stop.withLock { $0 }?() }
            return answer
        }
        stop.withLock { $0 = { qualification.stop() } }
        let report = await qualification.run([.awsV4, .awsV2])
        #expect(report.isCutShort && report.leftBehind == [])
        #expect(store.objects.withLock { $0.keys.sorted() } == [])
        let later = store.calls.withLock { $0.dropFirst(last) }
        #expect(!later.isEmpty && later.allSatisfy { $0.method == "DELETE" })
        #expect(report.judgements.last?.detail == "the checks had ended")
    }

    /// How a store answers an abort, and whether the upload is then named as left behind.
    @Test(arguments: [(204, false), (404, false), (403, true), (nil, true)] as [(Int?, Bool)])
    func `an upload in parts that was started is aborted, or named`(status: Int?, isLeft: Bool) async throws {
        let store = CarelessStore()
        let started = Mutex(0)
        let report = try await qualify { call in
            let answer = store.answer(call)
            if call.method == "POST", call.url.contains("uploads") {
                // Only the first one starts.
                let number = started.withLock { count in
                    count += 1
                    return count
                }
                guard number == 1 else { return StoreAnswer(status: 403) }
                return StoreAnswer(status: 200, body: Array("<UploadId>upload-1</UploadId>".utf8))
            }
            guard call.method == "DELETE", call.url.contains("uploadId=upload-1") else { return answer }
            return status.map { StoreAnswer(status: $0) }
        }
        #expect(report.leftBehind.contains { $0.hasSuffix("/object.bin, upload upload-1") } == isLeft)
        #expect(report.leftBehind.count == (isLeft ? 1 : 0))
    }

    /// How a store that takes every part answers an abort, and what is then known of aborted uploads.
    @Test(arguments: [204, 403, 503, nil])
    func `only a part of an upload that was aborted has to be refused`(status: Int?) async throws {
        let store = CarelessStore()
        let report = try await qualify { call in
            let answer = store.answer(call)
            if call.method == "POST", call.url.contains("uploads") {
                return StoreAnswer(status: 200, body: Array("<UploadId>upload-1</UploadId>".utf8))
            }
            guard call.method == "DELETE", call.url.contains("uploadId=upload-1") else { return answer }
            return status.map { StoreAnswer(status: $0) }
        }
        let judgement = report.judgements.first { $0.check == "a part of an upload that was aborted" }
        #expect(judgement?.verdict == (status == 204 ? .broken : .notJudged))
        #expect(status == 204 || judgement?.detail == "the upload could not be aborted")
    }

    @Test func `a URL is changed in one place at a time`() {
        let url =
            "https://s.example/b/k/object.bin?X-Amz-Credential=A%2F20300101%2Feu%2Fs3%2Faws4_request&X-Amz-Expires=60&X-Amz-Signature=0a"
        let text = LinkText(url)
        #expect(text.unsigned == url.replacing("&X-Amz-Signature=0a", with: ""))
        #expect(text.wronglySigned == url.replacing("=0a", with: "=aa"))
        #expect(text.longerLived == url.replacing("Expires=60", with: "Expires=3060"))
        #expect(text.inRegion("us", insteadOf: "eu") == url.replacing("%2Feu%2F", with: "%2Fus%2F"))
        #expect(text.inRegion("us", insteadOf: "cn") == nil)
        #expect(text.forKey("k/other.bin", insteadOf: "k/object.bin") == url.replacing("object.bin", with: "other.bin"))
        #expect(text.bare == "https://s.example/b/k/object.bin")
        #expect(text.hiding("expires", in: "x") == url.replacing("X-Amz-Expires=60", with: "x=%26X-Amz-Expires%3D60"))
    }

    /// A store that compares parameters after it has decoded them, whatever their capitals, and obeys those that it
    /// reads before that, as MinIO does for version 2.
    @Test func `a store that decodes a parameter too early lets it be hidden`() async throws {
        let store = CarelessStore()
        let report = try await qualify(
            { call in
                // The object stays for the checks that follow.
                guard call.method != "DELETE" else { return StoreAnswer(status: 403) }
                var answer = store.answer(call)
                let query = call.url.split(separator: "?", maxSplits: 1).last.map(String.init) ?? ""
                func signed(_ query: String) -> [String] {
                    query.lowercased().replacing("%26", with: "&").replacing("%3d", with: "=").split(separator: "&")
                        .map(String.init)
                }
                guard call.method == "GET", answer.status == 200 else { return answer }
                // What the link was signed for is known by what it holds.
                let isForAttachment = signed(query).contains("response-content-disposition=attachment")
                for item in query.split(separator: "&") {
                    let pair = item.split(separator: "=", maxSplits: 1).map(String.init)
                    switch pair[0].lowercased() {
                    case "response-content-disposition":
                        answer.fields.append(NamedValue("content-disposition", pair[1]))
                    case "response-content-type" where pair[0] != pair[0].lowercased():
                        answer.fields.append(NamedValue("content-type", "text/html"))
                    case "response-content-type": return StoreAnswer(status: 403)
                    default: continue
                    }
                }
                let isChanged = query.contains("isposition=inline") || !isForAttachment && query.contains("isposition")
                return isChanged ? StoreAnswer(status: 403) : answer
            }, schemes: [.awsV2])
        let broken = report.judgements.filter { $0.promise == .answerHeaders && $0.verdict == .broken }.map(\.check)
        #expect(
            broken.contains("a disposition inside another parameter") && broken.contains("a content type in capitals"))
        #expect(!broken.contains("another disposition") && !broken.contains("a content type, unsigned"))
    }
}
