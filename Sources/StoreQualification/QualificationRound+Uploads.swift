import GatewayCore
import LibCrypto
import Signing

extension QualificationRound {
    /// Tries links for uploads.
    ///
    /// - Returns: Whether links work at all, without which nothing else tells anything.
    func tryUploads() async -> Bool {
        let delivery = Delivery.presignedURL
        let key = freshKey()
        let link: TrialLink
        do throws(GatewayError) { link = try uploadLink(key, Self.body) { $0.metadata = ["owner": "alice"] } } catch {
            judge(delivery, .works, "upload", .notJudged, "the scheme cannot sign for this bucket")
            return false
        }
        let answer = await use(link, Self.body, key: key)
        guard expectWorks(delivery, "upload", answer, where: \.isSuccess) else { return false }
        await expectStored(delivery, "upload, read back", key)
        for change in uploadChanges { await tryChange(change) }
        await tryMethods()
        await tryExpiry()
        await trySizes()
        await tryChecksum()
        await tryCreation()
        await tryUnsignedHeaders()
        return true
    }

    /// Records whether the object is there as it was sent.
    func expectStored(_ delivery: Delivery, _ check: String, _ key: String, _ body: [UInt8] = body) async {
        switch await look(at: key) {
        case .object(let bytes): judge(delivery, .works, check, bytes == body ? .kept : .broken, "\(bytes.count) bytes")
        case .nothing: judge(delivery, .works, check, .broken, "404")
        case .unknown: leaveOpen(delivery, .works, check, why("the object could not be read"))
        }
    }

    /// An upload with one thing changed.
    struct Change: Sendable {
        let promise: StorePromise
        let check: String
        let apply: @Sendable (StoreCall) -> StoreCall?
    }

    private var uploadChanges: [Change] {
        let other = Array(Self.body.reversed())
        let otherMD5 = DigestAlgorithm.md5.digest(of: other).base64
        let metadata = bucket.trialBinding.metadataPrefix + "owner"
        return [
            Change(promise: .contentType, check: "another content type") {
                $0.with(header: "content-type", "text/html")
            },
            Change(promise: .contentType, check: "a parameter of the content type") {
                $0.with(header: "content-type", "\(Self.type); charset=utf-8")
            },
            Change(promise: .contentType, check: "no content type") { $0.with(header: "content-type", nil) },
            Change(promise: .content, check: "other bytes, with the bound MD5") { $0.with(body: other) },
            Change(promise: .content, check: "other bytes, with their MD5") {
                $0.with(header: "content-md5", otherMD5).with(body: other)
            },
            Change(promise: .content, check: "other bytes, without MD5") {
                $0.with(header: "content-md5", nil).with(body: other)
            },
            Change(promise: .metadata, check: "other metadata") { $0.with(header: metadata, "mallory") },
            Change(promise: .metadata, check: "no metadata") { $0.with(header: metadata, nil) },
            Change(promise: .signature, check: "another signature") { call in
                LinkText(call.url).wronglySigned.map { call.with(url: $0) }
            },
            Change(promise: .signature, check: "no signature") { $0.with(url: LinkText($0.url).unsigned) },
            Change(promise: .expiry, check: "a later end") { call in
                LinkText(call.url).longerLived.map { call.with(url: $0) }
            },
            Change(promise: .nothingMore, check: "a parameter more") {
                $0.with(url: LinkText($0.url).adding("uploadId", "none") + "&partNumber=1")
            },
            Change(promise: .signature, check: "another region, not signed for") { [region = bucket.region] call in
                LinkText(call.url).inRegion("elsewhere-1", insteadOf: region).map { call.with(url: $0) }
            },
        ]
    }

    private func tryChange(_ change: Change) async {
        let key = freshKey()
        guard let link = try? uploadLink(key, Self.body, { $0.metadata = ["owner": "alice"] }),
            let call = change.apply(StoreCall(link, Self.body))
        else { return }
        await expectRefused(.presignedURL, change.promise, change.check, at: key, await send(call, to: key))
    }

    private func tryMethods() async {
        let delivery = Delivery.presignedURL
        let key = freshKey()
        guard let link = try? uploadLink(key, Self.body) else { return }
        let call = StoreCall(link, Self.body)
        let elsewhere = key.replacing("object.bin", with: "object.exe")
        touch(elsewhere)
        if let url = LinkText(link.url).forKey(elsewhere, insteadOf: key) {
            await expectRefused(
                delivery, .key, "another key", at: elsewhere, await send(call.with(url: url), to: elsewhere))
        }
        let below = key + "/more"
        touch(below)
        if let url = LinkText(link.url).forKey(below, insteadOf: key) {
            await expectRefused(delivery, .key, "a key below", at: below, await send(call.with(url: url), to: below))
        }
        guard await place(Self.body, at: key) else {
            return leaveOpen(delivery, .method, "other methods with a link for PUT", why("nothing to try"))
        }
        for method in ["DELETE", "POST"] {
            let answer = await send(call.with(method: method).with(body: method == "POST" ? [0x78] : nil), to: key)
            await expectRefused(
                delivery, .method, "\(method) with a link for PUT", at: key, answer, unless: Self.body)
        }
        expectUnread(
            delivery, .method, "GET with a link for PUT", await send(call.with(method: "GET").with(body: nil)))
    }

    private func tryExpiry() async {
        let key = freshKey()
        guard let link = try? uploadLink(key, Self.body, secondsAgo: 120, expiresIn: 60) else { return }
        await expectRefused(.presignedURL, .expiry, "after its end", at: key, await use(link, Self.body, key: key))
        guard !bucket.region.isEmpty, bucket.scheme == .awsV4 || bucket.scheme == .ossV4 else { return }
        var other = bucket
        other.region = "elsewhere-1"
        let foreign = freshKey()
        guard
            let signed = try? URLSigner().trial(
                fields(foreign, Self.body, bindsMD5: true), in: other, with: credential, expiresIn: Self.life, at: now()
            )
        else { return }
        let check = "signed for another region"
        let tried = await use(signed, Self.body, key: foreign)
        guard let answer = conclusive(.presignedURL, .region, check, tried) else { return }
        judge(
            .presignedURL, .region, check, answer.isSuccess ? .noted : .kept,
            answer.summary + (answer.isSuccess ? ": the store does not compare the region" : ""))
    }

    /// The length by itself: without MD5, which would tell other bytes anyway.
    private func trySizes() async {
        let delivery = Delivery.presignedURL
        guard bucket.trialBinding.bindsLength else {
            return judge(delivery, .size, "another length", .notJudged, "links of this scheme bind no length")
        }
        let bodies: [(String, [UInt8], Bool)] = [
            ("a byte more", Self.body + [0x78], false), ("a byte less", Array(Self.body.dropLast()), false),
            ("no bytes", [], false), ("in chunks, a byte more", Self.body + [0x78], true),
        ]
        for (check, body, isChunked) in bodies {
            let key = freshKey()
            guard let link = try? uploadLink(key, Self.body, bindsMD5: false) else { continue }
            let answer = await send(StoreCall(link).with(body: body, isChunked: isChunked), to: key)
            await expectRefused(delivery, .size, check, at: key, answer)
        }
    }

    private func tryChecksum() async {
        let delivery = Delivery.presignedURL
        guard bucket.trialBinding.bindsSHA256 else {
            return judge(delivery, .content, "a SHA-256 of other bytes", .notJudged, "this scheme binds no SHA-256")
        }
        let key = freshKey()
        let other = Array(Self.body.reversed())
        let wish: (inout IssueRequest.Fields) -> Void = {
            $0.checksumSHA256 = DigestAlgorithm.sha256.digest(of: Self.body).base64
        }
        guard let link = try? uploadLink(key, Self.body, bindsMD5: false, wish) else { return }
        await expectRefused(
            delivery, .content, "other bytes than the bound SHA-256 is of", at: key, await use(link, other, key: key))
    }

    private func tryCreation() async {
        let delivery = Delivery.presignedURL
        guard bucket.trialBinding.bindsCreation else {
            return judge(delivery, .creationOnly, "a second upload", .notJudged, "this scheme cannot bind creation")
        }
        let key = freshKey()
        let wish: (inout IssueRequest.Fields) -> Void = { $0.ifNoneMatch = "*" }
        let second = Array("a second upload".utf8)
        guard let link = try? uploadLink(key, Self.body, wish), let again = try? uploadLink(key, second, wish) else {
            return
        }
        guard expectWorks(delivery, "creation", await use(link, Self.body, key: key), where: \.isSuccess) else {
            return
        }
        await expectRefused(
            delivery, .creationOnly, "a second upload", at: key, await use(again, second, key: key), unless: Self.body)
        let fresh = freshKey()
        guard let bound = try? uploadLink(fresh, Self.body, wish) else { return }
        var call = StoreCall(bound, Self.body)
        call.headers.removeAll { header in
            ["if-none-match", "x-oss-forbid-overwrite", "x-goog-if-generation-match"].contains(header.name)
        }
        await expectRefused(
            delivery, .creationOnly, "without the condition", at: fresh, await send(call, to: fresh))
    }

    /// Headers that no signature lists. A store that obeys them lets the holder of a link do more than it says.
    private func tryUnsignedHeaders() async {
        let delivery = Delivery.presignedURL
        let vendor =
            switch bucket.scheme {
            case .awsV4, .awsV2: "x-amz-"
            case .ossV4, .ossV1: "x-oss-"
            case .gcsV4RSA, .gcsV4HMAC, .gcsV2RSA: "x-goog-"
            }
        let acl = vendor == "x-oss-" ? "x-oss-object-acl" : vendor + "acl"
        let everyone = #"uri="http://acs.amazonaws.com/groups/global/AllUsers""#
        var publishing = [NamedValue(acl, "public-read")]
        if vendor == "x-amz-" { publishing.append(NamedValue("x-amz-grant-read", everyone)) }
        for header in publishing {
            let key = freshKey()
            guard let link = try? uploadLink(key, Self.body) else { continue }
            let call = StoreCall(link, Self.body).with(header: header.name, header.value)
            // The bound ACL of a closed link stays: the holder adds a second one.
            let answer = await send(
                link.headers.contains { $0.name == header.name } ? StoreCall(link, Self.body).adding(header) : call,
                to: key)
            let stranger = await send(StoreCall(method: "GET", url: LinkText(link.url).bare, headers: []))
            let check = "\(header.name), unsigned"
            let detail = "\(answer?.summary ?? why()), then \(stranger?.summary ?? why()) for everyone"
            if stranger?.isSuccess == true {
                judge(delivery, .nothingMore, check, .broken, detail)
            } else if [answer, stranger].contains(where: { $0?.isOpen ?? true }) {
                leaveOpen(delivery, .nothingMore, check, detail)
            } else {
                judge(delivery, .nothingMore, check, .kept, detail)
            }
        }
        await tryCopy(vendor)
        if vendor == "x-amz-" {
            await tryTimes()
            await tryGuess()
        }
        let key = freshKey()
        guard let link = try? uploadLink(key, Self.body) else { return }
        let name = bucket.trialBinding.metadataPrefix + "more"
        let call = StoreCall(link, Self.body).with(header: name, "unsigned")
        let check = "metadata, unsigned"
        guard let answer = conclusive(delivery, .nothingMore, check, await send(call, to: key)) else { return }
        var isObeyed = false
        if answer.isSuccess, let download = try? downloadLink(key) {
            guard let read = conclusive(delivery, .nothingMore, check, await use(download)) else { return }
            isObeyed = read.field(name) == "unsigned"
        }
        judge(delivery, .nothingMore, check, isObeyed ? .broken : .kept, answer.summary)
    }

    private func tryTimes() async {
        for (check, header) in zip(QualificationReport.unsignedTimes, UnsignedHeader.times) {
            let key = freshKey()
            guard let link = try? uploadLink(key, Self.body) else { continue }
            let tried = await send(StoreCall(link, Self.body).with(header: header.name, header.value), to: key)
            guard let answer = conclusive(.presignedURL, .nothingMore, check, tried) else { continue }
            var isObeyed = answer.status == 400
            if answer.isSuccess, let download = try? downloadLink(key) {
                guard let read = conclusive(.presignedURL, .nothingMore, check, await use(download)) else { continue }
                isObeyed = UnsignedHeader.isWriteTime(read.field("last-modified"))
            }
            // With the setting, nobody relies on when an object was made, nor on that it stays.
            let verdict: Verdict = !isObeyed ? .kept : bucket.externalDeletions ? .noted : .broken
            judge(.presignedURL, .nothingMore, check, verdict, answer.summary)
        }
    }

    private func tryGuess() async {
        let (key, header) = (freshKey("page.html"), UnsignedHeader.typeGuess)
        guard let link = try? uploadLink(key, Self.body) else { return }
        let call = StoreCall(link, Self.body)
        let check = "\(header.name), unsigned"
        let isBound = link.headers.contains { $0.name == header.name }
        let changed = isBound ? call.adding(header) : call.with(header: header.name, header.value)
        guard let answer = conclusive(.presignedURL, .nothingMore, check, await send(changed, to: key)) else { return }
        var isGuessed = false
        if answer.isSuccess, let download = try? downloadLink(key) {
            guard let read = conclusive(.presignedURL, .nothingMore, check, await use(download)) else { return }
            isGuessed = UnsignedHeader.isGuessedType(read.field("content-type"))
        }
        judge(.presignedURL, .nothingMore, check, isGuessed ? .broken : .kept, answer.summary)
    }

    private func tryCopy(_ vendor: String) async {
        let secret = Array("an object that the link is not for".utf8)
        let source = freshKey("secret.bin")
        let check = "\(vendor)copy-source, unsigned"
        guard await place(secret, at: source) else {
            return leaveOpen(.presignedURL, .nothingMore, check, why("nothing to copy"))
        }
        let key = freshKey()
        // The same length, so that a bound length fits.
        let body = [UInt8](repeating: 0x78, count: secret.count)
        guard let link = try? uploadLink(key, body) else { return }
        let call = StoreCall(link, body).with(header: vendor + "copy-source", "/\(bucket.name)/\(source)")
        guard let answer = conclusive(.presignedURL, .nothingMore, check, await send(call, to: key)) else { return }
        let found = await look(at: key)
        guard !answer.isSuccess || found != .unknown else {
            return leaveOpen(.presignedURL, .nothingMore, check, why("the object could not be read"))
        }
        let isCopy = found == .object(secret)
        judge(
            .presignedURL, .nothingMore, check, isCopy ? .broken : .kept,
            answer.summary + (isCopy ? ", and it is a copy of another object" : ""))
    }
}

extension StoreCall {
    /// The call with a header more, even if there is one with that name.
    func adding(_ header: NamedValue) -> StoreCall {
        var call = self
        call.headers.append(header)
        return call
    }
}
