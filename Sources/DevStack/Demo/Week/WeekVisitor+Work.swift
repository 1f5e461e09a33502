import FoundationEssentials
import GatewayCore
import Signing
import Synchronization

/// What the people of the demo's week do when they come.
extension WeekVisitor {
    /// Uploads pictures; some are too large, or of a type that no grant allows.
    func uploadPhotos(_ visit: Visit) async throws {
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

    /// Asks for the pictures of a page, all at once.
    func lookAtPhotos(_ visit: Visit) async throws {
        let known = uploaded.withLock { $0.photos }
        let wanted = (0..<dice.roll(16...64)).map { place in
            download(dice.pick(known) ?? "photos/library/\(1_000 + place).jpg")
        }
        _ = try await askForBatch(wanted, visit)
    }

    /// Follows links to reports, one after the other. Partners also try those of the board.
    func readReports(_ visit: Visit) async throws {
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

    /// Uploads reports, or those of the nightly export.
    func uploadReports(_ visit: Visit, _ count: Int) async throws {
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

    /// Uploads a video in parts.
    func uploadVideo(_ visit: Visit) async throws {
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
        let done = try await ask("/v1/multipart-uploads/{id}:complete", visit) { () async throws(GatewayError) in
            try await gateway.multipartUploads.complete(started.id, parts: sent, in: context)
        }
        guard let done else { return }
        try await land(
            [(started.id, started.key, Int64(parts) * partLength, "video/mp4")], visit, in: started.bucket,
            etag: done.etag ?? Self.etag)
    }

    /// Does one of the things that a telephone does.
    func useApp(_ visit: Visit) async throws {
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
                try await gateway.browserForms.issue(request, in: visit.context)
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
        return try gateway.browserForms.request(fields, in: visit.context)
    }

    /// Asks for what nobody allowed.
    func tryWhatIsClosed(_ visit: Visit) async throws {
        let (gateway, tries) = (
            gateway, ["photos/library/1001.jpg", "reports/board/minutes.pdf", "users/alice/hello.txt"]
        )
        for _ in 0..<dice.roll(1...6) {
            let bucket = dice.chance(0.15) ? "backups" : DemoWorld.bucket
            let request = try IssueRequest(download(dice.pick(tries) ?? "", from: bucket))
            _ = try await ask("/v1/presigned-urls", visit) { () async throws(GatewayError) in
                try await gateway.presignedURLs.issue(request, in: visit.context)
            }
        }
    }
}
