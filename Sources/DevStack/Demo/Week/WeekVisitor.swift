import Foundation
import GatewayAPI
import GatewayCore
import HTTPTypes
import Signing
import Synchronization

/// Does what the people of the demo's week do when they come: asks for links, and says what arrived at the store.
final class WeekVisitor: Sendable {
    let gateway: WeekGateway
    let dice: Dice
    /// Keys of pictures and reports that were uploaded, for people who look at them.
    private let uploaded = Mutex<(photos: [String], reports: [String])>(([], []))
    private let numbers = Mutex(1_000)

    init(gateway: WeekGateway, dice: Dice) {
        self.gateway = gateway
        self.dice = dice
    }

    /// What one visit needs.
    struct Visit: Sendable {
        let person: WeekPerson
        let context: RequestContext
        let notes: WeekNotes
    }

    /// Lets somebody come.
    ///
    /// - Throws: `GatewayError` if the gateway or its database fails. A refusal is part of the week.
    func receive(_ person: WeekPerson) async throws {
        let notes = WeekNotes()
        let context = RequestContext(
            caller: try await gateway.authenticator.authenticate(Secret(person.principal)),
            sourceAddress: person.address,
            requestID: UUID.version7(at: gateway.clock.now, randomBytes: dice.bytes(count: 10)).uuidString.lowercased(),
            deadline: .now + .seconds(30), refusals: notes)
        let visit = Visit(person: person, context: context, notes: notes)
        switch person.group {
        case .photographers: try await uploadPhotos(visit)
        case .editors: try await dice.chance(0.12) ? uploadVideo(visit) : lookAtPhotos(visit)
        case .analysts: try await dice.chance(0.3) ? uploadReports(visit, dice.roll(1...3)) : readReports(visit)
        case .mobile: try await useApp(visit)
        case .partners: try await readReports(visit)
        case .operations: try await person.name == "nightly-export" ? uploadReports(visit, 55) : readReports(visit)
        case nil: try await tryWhatIsClosed(visit)
        }
        guard notes.hasAny else { return }
        for (note, route, status) in notes.taken {
            _ = gateway.refusals.keep(
                RefusalRecord(
                    requestID: context.requestID, at: gateway.clock.now, method: route.hasPrefix("/v1/objects")
                        ? "GET" : "POST", route: route, status: status, note: note,
                    principal: context.caller.principal, sourceAddress: context.sourceAddress))
        }
        await gateway.writeRefusals()
    }

    private func number() -> Int {
        numbers.withLock { number in
            number += 1
            return number
        }
    }

    /// Runs a request on its own; a refusal is noted with its route and is `nil`.
    ///
    /// - Throws: `GatewayError` if the gateway fails.
    private func ask<Answer>(
        _ route: String, _ visit: Visit, _ request: () async throws(GatewayError) -> Answer
    ) async throws -> Answer? {
        do throws(GatewayError) {
            return try await request()
        } catch {
            guard error.httpStatus.code < 500 else { throw error }
            visit.notes.file(under: route, status: error.httpStatus.code)
            return nil
        }
    }

    /// Asks for a batch of links; refused ones are noted and left out.
    private func askForBatch(
        _ fields: [IssueRequest.Fields], _ visit: Visit
    ) async throws -> [(fields: IssueRequest.Fields, url: IssuedURL)] {
        let requests = try fields.map { try IssueRequest($0) }
        let results = await gateway.presignedURLs.issue(requests, in: visit.context)
        visit.notes.file(under: "/v1/presigned-urls/batch", status: 200)
        return try zip(fields, results).compactMap { fields, result in
            switch result {
            case .success(let url): return (fields, url)
            case .failure(let error) where error.httpStatus.code >= 500: throw error
            case .failure: return nil
            }
        }
    }

    private func download(_ key: String, from bucket: String = DemoWorld.bucket) -> IssueRequest.Fields {
        var fields = IssueRequest.Fields()
        fields.action = Action.getObject.rawValue
        fields.bucket = bucket
        fields.key = key
        return fields
    }

    private func upload(
        _ key: String, to bucket: String = DemoWorld.bucket, type: String, length: Int64
    ) -> IssueRequest.Fields {
        var fields = IssueRequest.Fields()
        fields.action = Action.putObject.rawValue
        fields.bucket = bucket
        fields.key = key
        fields.contentType = type
        fields.contentLength = length
        return fields
    }

    /// The present day as a folder.
    private var folder: String {
        let day = SigningInstant(clampingEpochSeconds: Int64(gateway.clock.now.timeIntervalSince1970)).extended
            .prefix(10)
        return String(day.replacing("-", with: "/"))
    }
}

// MARK: - What people do

extension WeekVisitor {
    private func uploadPhotos(_ visit: Visit) async throws {
        let wanted = (0..<dice.roll(2...14)).map { _ in
            var fields = upload(
                "photos/\(folder)/\(visit.person.name)-\(number()).jpg", type: "image/jpeg",
                length: Int64(dice.roll(1_200_000...11_000_000)))
            if dice.chance(0.012) { fields.contentLength = Int64(dice.roll(30 << 20...80 << 20)) }
            if dice.chance(0.006) { fields.contentType = "image/svg+xml" }
            return fields
        }
        let issued = try await askForBatch(wanted, visit)
        let landed = issued.filter { _ in dice.chance(0.93) }
        try await land(landed.map { ($0.url.id, $0.url.key, $0.fields.contentLength ?? 0, "image/jpeg") }, visit)
        uploaded.withLock { known in
            known.photos = (known.photos + landed.map(\.url.key.rawValue)).suffix(400)
        }
    }

    private func lookAtPhotos(_ visit: Visit) async throws {
        let known = uploaded.withLock { $0.photos }
        let wanted = (0..<dice.roll(16...64)).map { place in
            download(dice.pick(known) ?? "photos/library/\(1_000 + place).jpg")
        }
        _ = try await askForBatch(wanted, visit)
    }

    private func readReports(_ visit: Visit) async throws {
        let known = uploaded.withLock { $0.reports }
        for _ in 0..<dice.roll(1...5) {
            var key = dice.pick(known) ?? "reports/library/\(dice.roll(1...40)).csv"
            if visit.person.group == .partners, dice.chance(0.14) { key = "reports/board/minutes.pdf" }
            let request = try IssueRequest(download(key), delivery: .redirect)
            _ = try await ask("/v1/objects/{bucket}/{key}", visit) { () async throws(GatewayError) in
                try await self.gateway.presignedURLs.issue(request, in: visit.context)
            }
        }
    }

    private func uploadReports(_ visit: Visit, _ count: Int) async throws {
        let isExport = visit.person.group == .operations
        let wanted = (0..<count).map { _ in
            upload(
                isExport ? "reports/exports/\(folder)/\(number()).parquet" : "reports/\(folder)/\(number()).csv",
                type: isExport ? "application/octet-stream" : "text/csv",
                length: Int64(isExport ? dice.roll(20_000_000...240_000_000) : dice.roll(4_000...3_000_000)))
        }
        let issued = try await askForBatch(wanted, visit)
        let landed = issued.filter { _ in dice.chance(isExport ? 0.98 : 0.9) }
        try await land(
            landed.map { ($0.url.id, $0.url.key, $0.fields.contentLength ?? 0, $0.fields.contentType ?? "") }, visit)
        uploaded.withLock { known in
            known.reports = (known.reports + landed.map(\.url.key.rawValue)).suffix(200)
        }
    }

    private func uploadVideo(_ visit: Visit) async throws {
        let parts = dice.roll(2...6)
        let partLength: Int64 = 64 << 20
        var fields = IssueRequest.Fields()
        fields.bucket = DemoWorld.ossBucket
        fields.key = "videos/\(folder)/\(visit.person.name)-\(number()).mp4"
        fields.contentType = "video/mp4"
        fields.contentLength = Int64(parts) * partLength
        let (gateway, context) = (gateway, visit.context)
        let wanted = fields
        let started = try await ask("/v1/multipart-uploads", visit) { () async throws(GatewayError) in
            try await gateway.multipartUploads.start(wanted, in: context)
        }
        guard let started else { return }
        let wishes = (1...parts).map { PartWish(number: $0, contentLength: partLength) }
        _ = try await ask("/v1/multipart-uploads/{id}/parts", visit) { () async throws(GatewayError) in
            try await gateway.multipartUploads.issue(wishes, of: started.id, in: context)
        }
        // Some give up.
        guard dice.chance(0.85) else { return }
        let sent = try (1...parts).map { try UploadedPart(number: $0, etag: Self.etag) }
        let done = try await ask("/v1/multipart-uploads/{id}/complete", visit) { () async throws(GatewayError) in
            try await gateway.multipartUploads.complete(started.id, parts: sent, in: context)
        }
        guard let done else { return }
        try await land(
            [(started.id, started.key, Int64(parts) * partLength, "video/mp4")], visit, in: started.bucket,
            etag: done.etag ?? Self.etag)
    }

    private func useApp(_ visit: Visit) async throws {
        let gateway = gateway
        let folder = "app/\(visit.person.name)/"
        let bucket = try BucketName(DemoWorld.ossBucket)
        switch dice.index(weights: [25, 40, 20, 15]) {
        case 0:
            let request = try SessionRequest(bucket: bucket, prefix: folder, actions: nil, duration: 3600)
            _ = try await ask("/v1/sts/oss", visit) { () async throws(GatewayError) in
                try await gateway.sessions.issue(request, in: visit.context)
            }
        case 1:
            for _ in 0..<dice.roll(1...4) { try await signRemotely(folder, bucket, visit) }
        case 2:
            let request = try form(below: folder, visit)
            let issued = try await ask("/v1/post-policies", visit) { () async throws(GatewayError) in
                try await gateway.presignedURLs.issue(request, in: visit.context)
            }
            guard let issued, dice.chance(0.8) else { return }
            let key = try ObjectKey(issued.key)
            try await land([(issued.id, key, Int64(dice.roll(20_000...900_000)), "image/png")], visit, in: bucket)
        default:
            // An app that an earlier owner of the telephone left signed in.
            let key = dice.chance(0.3) ? "app/nobody/IMG_0001.jpg" : "\(folder)IMG_\(number()).jpg"
            let request = try IssueRequest(download(key, from: bucket.rawValue))
            _ = try await ask("/v1/presigned-urls", visit) { () async throws(GatewayError) in
                try await gateway.presignedURLs.issue(request, in: visit.context)
            }
        }
    }

    private func signRemotely(_ folder: String, _ bucket: BucketName, _ visit: Visit) async throws {
        let gateway = gateway
        let key = try ObjectKey("\(folder)IMG_\(number()).jpg")
        let date = SigningInstant(clampingEpochSeconds: Int64(gateway.clock.now.timeIntervalSince1970)).httpDate
        let string = try RemoteString(
            "PUT\n\nimage/jpeg\n\(date)\n/\(bucket.rawValue)/\(key.rawValue)", canonicalRequest: nil, scheme: .oss)
        let signed = try await ask("/v1/signatures/oss", visit) { () async throws(GatewayError) in
            try await gateway.remoteSignatures.sign(string, scheme: .oss, in: visit.context)
        }
        guard let signed, dice.chance(0.9) else { return }
        try await land([(signed.id, key, Int64(dice.roll(300_000...6_000_000)), "image/jpeg")], visit, in: bucket)
    }

    private func form(below folder: String, _ visit: Visit) throws -> PostPolicyRequest {
        var fields = PostPolicyRequest.Fields()
        fields.bucket = DemoWorld.ossBucket
        fields.key = "\(folder)avatar-\(number()).png"
        fields.contentTypes = ["image/png"]
        fields.maxBytes = 1 << 20
        return try gateway.presignedURLs.request(fields, in: visit.context)
    }

    private func tryWhatIsClosed(_ visit: Visit) async throws {
        let (gateway, tries) = (gateway, ["photos/library/1001.jpg", "reports/board/minutes.pdf", "users/alice/hello.txt"])
        for _ in 0..<dice.roll(1...6) {
            let bucket = dice.chance(0.15) ? "backups" : DemoWorld.bucket
            let request = try IssueRequest(download(dice.pick(tries) ?? "", from: bucket))
            _ = try await ask("/v1/presigned-urls", visit) { () async throws(GatewayError) in
                try await gateway.presignedURLs.issue(request, in: visit.context)
            }
        }
    }
}

// MARK: - What arrives at the store

extension WeekVisitor {
    /// The entity tag of every object: nothing is stored that it could be computed from.
    private static let etag = "5d41402abc4b2a76b9719d911017c592"

    /// Says that objects arrived at the store. It reports most of them; the app confirms the others.
    private func land(
        _ uploads: [(id: UUID, key: ObjectKey, size: Int64, type: String)], _ visit: Visit, in bucket: BucketName? = nil,
        etag: String = etag
    ) async throws {
        guard !uploads.isEmpty else { return }
        let bucket = try bucket ?? BucketName(DemoWorld.bucket)
        let madeAt = gateway.clock.now.addingTimeInterval(2)
        for upload in uploads {
            gateway.store.put(
                StoredObject(size: upload.size, etag: etag, contentType: upload.type, modifiedAt: madeAt),
                at: upload.key, in: bucket)
        }
        if dice.chance(0.8) {
            let objects = uploads.map { MadeObject(key: $0.key, madeAt: madeAt, size: $0.size, etag: etag) }
            _ = try await gateway.storeEvents.note(objects, in: bucket)
        } else {
            for upload in uploads { _ = try await gateway.confirmation.confirm(upload.id, by: visit.context.caller) }
        }
    }
}

/// Collects why the requests of a visit were refused.
final class WeekNotes: RefusalNotes {
    private let notes = Mutex<(fresh: [RefusalNote], filed: [(RefusalNote, route: String, status: Int)])>(([], []))

    /// Takes note of a refusal.
    func note(_ refusal: RefusalNote) {
        notes.withLock { $0.fresh.append(refusal) }
    }

    /// Says which request the latest notes belong to.
    func file(under route: String, status: Int) {
        notes.withLock { notes in
            notes.filed += notes.fresh.map { ($0, route: route, status: status) }
            notes.fresh = []
        }
    }

    var hasAny: Bool { notes.withLock { !$0.filed.isEmpty } }

    var taken: [(RefusalNote, route: String, status: Int)] { notes.withLock { $0.filed } }
}
