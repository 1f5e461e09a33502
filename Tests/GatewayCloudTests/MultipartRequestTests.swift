import Foundation
import GatewayCore
import HTTPServing
import HTTPTesting
import HTTPTypes
import Signing
import SigningTesting
import StrictXML
import TestSupport
import Testing

@testable import GatewayCloud

/// Requests of the gateway to stores that cannot run here. They are compared with the verifiers of the schemes, and
/// with URLs that the stores' own SDKs made for the same calls at the same instant.
@Suite(.timeLimit(.minutes(2))) struct MultipartRequestTests {
    /// A URL made by an SDK.
    struct Vector: Decodable, CustomTestStringConvertible {
        enum Call: String, Decodable { case start, complete, abort, parts }

        let call: Call
        let scheme: Bucket.Scheme
        let provider: Bucket.Provider
        let endpoint: String
        let region: String
        let addressing: Bucket.Addressing
        let sessionToken: String?
        let method: String
        let url: String
        let sdk: String

        var testDescription: String { "\(sdk): \(scheme.rawValue) \(call)\(sessionToken == nil ? "" : ", token")" }

        static let all: [Vector] = {
            let file = Bundle.module.url(forResource: "multipart_urls", withExtension: "json", subdirectory: "Vectors")
            return file.flatMap { try? JSONDecoder().decode([Vector].self, from: Data(contentsOf: $0)) } ?? []
        }()

        func rows(at endpoint: String, _ addressing: Bucket.Addressing) -> StoreRows {
            StoreRows(
                endpoint: endpoint, provider: provider, scheme: scheme, region: region, addressing: addressing,
                sessionToken: sessionToken)
        }
    }

    static let storeUploadID = "2~aB-_.+/=%2F"
    static let etags = ["5d41402abc4b2a76b9719d911017c592", "7D793037A0760186574B0282F2F435E7"]

    /// Answers each call as a store does.
    private static func answer(_ head: RequestHead) -> String {
        let path = head.target
        return if path.contains("max-parts=") {
            "<ListPartsResult><IsTruncated>false</IsTruncated></ListPartsResult>"
        } else if path.contains("uploadId=") {
            "<CompleteMultipartUploadResult><ETag>\"x-2\"</ETag></CompleteMultipartUploadResult>"
        } else {
            "<InitiateMultipartUploadResult><UploadId>\(storeUploadID)</UploadId></InitiateMultipartUploadResult>"
        }
    }

    /// Makes a call; returns the request that the store received.
    private func received(_ vector: Vector) async throws -> (head: RequestHead, body: [UInt8]) {
        let peer = StandIn { request in
            request.head.method == .delete ? .bytes("", status: .noContent) : .bytes(Self.answer(request.head))
        }
        try await peer.serve { origin in
            let desk = try UploadDesk(vector.rows(at: origin, .path), reachedAt: origin)
            switch vector.call {
            case .start:
                let upload = try await desk.start()
                #expect(upload.state == .open && upload.storeUploadID == Self.storeUploadID)
            case .complete:
                let upload = try await desk.openUpload(Self.storeUploadID)
                let parts = try [1, 10_000].enumerated().map { try UploadedPart(number: $1, etag: Self.etags[$0]) }
                let done = try await desk.complete(upload.id, parts)
                #expect(done.state == .completed && done.etag == "x-2")
            case .abort:
                let upload = try await desk.openUpload(Self.storeUploadID)
                try await desk.abort(upload.id)
                #expect(desk.rows.state(of: upload.id) == .aborted)
            case .parts:
                let upload = try await desk.openUpload(Self.storeUploadID)
                let none = StoredParts(parts: [], next: nil)
                #expect(try await desk.calls.parts(of: upload, after: 7, atMost: 100) == none)
            }
        }
        try #require(peer.requests.count == 1)
        return (peer.heads[0], peer.requests[0].body)
    }

    private func verified(
        _ head: RequestHead, _ vector: Vector, secondsLater: Int64 = 0,
        _ change: (inout ReceivedRequest) -> Void = { _ in }
    ) throws -> VerifiedRequest {
        let rows = vector.rows(at: "", .path)
        let credential = SigningCredential(
            accessKeyID: rows.credential.accessKeyID, secretAccessKey: rows.credential.secretAccessKey.reveal(),
            securityToken: vector.sessionToken)
        let find = { @Sendable (id: String) in id == credential.accessKeyID ? credential : nil }
        var request = ReceivedRequest(
            method: head.method.rawValue, target: head.target,
            headers: head.headerFields.map { NamedValue($0.name.rawName, $0.value) })
        change(&request)
        let now = try #require(
            SigningInstant(epochSeconds: Int64(UploadDesk.now.timeIntervalSince1970) + secondsLater))
        if vector.scheme == .ossV1 {
            let verifier = OSSV1.Verifier(clockToleranceSeconds: 0, credential: find)
            return try verifier.verify(request, bucket: nil, at: now)
        }
        let scope: CredentialScope =
            switch vector.scheme {
            case .ossV4: .oss(region: vector.region)
            case .gcsV4HMAC: .gcsHMAC(location: vector.region)
            default: .aws(region: vector.region)
            }
        let verifier = V4Verifier(
            scope: scope, clockToleranceSeconds: 0, credential: find)
        return try verifier.verify(presigned: request, at: now)
    }

    @Test func `the vectors are there`() {
        #expect(Vector.all.count == 23)
        #expect(Set(Vector.all.map(\.scheme)) == [.ossV4, .ossV1, .gcsV4HMAC, .awsV4])
    }

    @Test(arguments: Vector.all) func `each call is one signed request that says no more`(vector: Vector) async throws {
        let (head, body) = try await received(vector)
        #expect(head.method.rawValue == vector.method)
        #expect(head.target.prefix { $0 != "?" } == "/photos/uploads/large%20%C3%BC%2B.mov")
        #expect(head.headerFields[.contentType] == (vector.call == .start ? "video/quicktime" : nil))
        #expect(head.headerFields[.authorization] == nil && head.headerFields[.cookie] == nil)
        if head.method == .post { #expect(head.headerFields[.contentLength] == "\(body.count)") }
        if vector.call == .complete {
            let root = try #require(XMLElement.read(body))
            #expect(root.name == "CompleteMultipartUpload")
            #expect(root.children.map(\.name) == ["Part", "Part"])
            #expect(root.children.map { $0.text("PartNumber") } == ["1", "10000"])
            #expect(root.children.map { $0.text("ETag") } == Self.etags.map { "\"\($0)\"" })
        } else {
            #expect(body.isEmpty)
        }
        let wanted =
            switch vector.call {
            case .start: [NamedValue("uploads", "")]
            case .complete, .abort: [NamedValue("uploadId", Self.storeUploadID)]
            case .parts:
                [
                    NamedValue("max-parts", "100"), NamedValue("part-number-marker", "7"),
                    NamedValue("uploadId", Self.storeUploadID),
                ]
            }
        // The verifier of OSS V1 counts the token among the parameters that are not part of the signature.
        let query = try verified(head, vector).query.filter { $0.name != "security-token" }
        #expect(query.sorted { $0.name < $1.name } == wanted)
    }

    @Test(arguments: Vector.all) func `any other request is refused, and any later one`(vector: Vector) async throws {
        let (head, _) = try await received(vector)
        #expect(throws: Never.self) { try verified(head, vector, secondsLater: 59) }
        #expect(throws: VerificationError.expired) { try verified(head, vector, secondsLater: 60) }
        func refuses(_ change: (inout ReceivedRequest) -> Void) {
            #expect(throws: VerificationError.signatureMismatch) { try verified(head, vector, change) }
        }
        refuses { $0.method = $0.method == "GET" ? "DELETE" : "GET" }
        refuses { $0.target = $0.target.replacing("/photos/", with: "/photos/x") }
        if vector.call == .start {
            refuses { $0.target = $0.target.replacing(/uploads=?&/, with: "acl&") }
            refuses { request in
                request.headers = request.headers.map { $0.value == "tests" ? .init($0.name, "t") : $0 }
            }
            refuses { request in
                request.headers = request.headers.map { $0.value == "video/quicktime" ? .init($0.name, "a/b") : $0 }
            }
        }
        if vector.call != .start {
            refuses { $0.target = $0.target.replacing("2~aB", with: "2~aC") }
        }
    }

    @Test(arguments: Vector.all) func `the stores' own SDKs sign the same request alike`(vector: Vector) async throws {
        let (head, _) = try await received(vector)
        let verified = try verified(head, vector)
        // Some schemes sign the port, and the peer has another one. So the same request is signed for the store's own
        // host.
        let own = ["host", "content-md5"]
        let headers = verified.signedHeaders.filter { !own.contains($0) }.compactMap { name in
            head.headerFields.first { $0.name.canonicalName == name }.map { NamedValue(name, $0.value) }
        }
        let rows = vector.rows(at: vector.endpoint, vector.addressing)
        let url = try URLSigner().url(
            head.method.rawValue, of: ObjectKey(UploadDesk.key), in: rows.bucket(BucketName("photos")),
            with: rows.credential, headers: headers,
            query: verified.query.filter { $0.name != "security-token" }, expiresIn: 60, at: UploadDesk.now
        ).reveal()
        #expect(try Self.parts(of: url) == Self.parts(of: vector.url))
        // OSS signs neither host nor port.
        if vector.provider == .oss {
            let signature = vector.scheme == .ossV4 ? "x-oss-signature=" : "Signature="
            let sent = try #require(head.target.split(separator: signature).last)
            #expect(vector.url.hasSuffix("\(signature)\(sent)"))
        }
    }

    @Test func `Google is asked for the object of an upload so that it tells the length`() async throws {
        let encodings: [(Bucket.Provider, Bucket.Scheme, String?)] = [(.gcs, .gcsV4HMAC, "gzip"), (.s3, .awsV4, nil)]
        for (provider, scheme, expected) in encodings {
            let peer = StandIn { _ in .bytes("") }
            try await peer.serve { origin in
                let rows = StoreRows(endpoint: origin, provider: provider, scheme: scheme)
                let desk = try UploadDesk(rows, reachedAt: origin)
                let upload = try await desk.openUpload(Self.storeUploadID)
                #expect(try await desk.calls.etag(of: upload, mayBeComplete: true) == nil)
            }
            #expect(peer.heads.map(\.method) == [.head])
            #expect(peer.heads.map { $0.headerFields[.acceptEncoding] } == [expected])
        }
    }

    /// Origin and path unchanged, and the decoded parameters, sorted by name.
    private static func parts(of url: String) throws -> [String] {
        let halves = url.split(separator: "?", maxSplits: 1)
        try #require(halves.count == 2)
        let pairs = halves[1].split(separator: "&").map { pair in
            // To all of these stores, a bare name is the same parameter.
            (pair.removingPercentEncoding ?? "").replacing(/=$/, with: "")
        }
        return [String(halves[0])] + pairs.sorted()
    }
}
