import GatewayCore
import LibCrypto
import LibCurl
import Signing

extension ProbeRound {
    /// Tries to misuse the links that users get.
    mutating func tryUnsigned() async {
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

    mutating func skipUnsigned() {
        for step in unsignedSteps { skip(step) }
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

    private mutating func tryPublishing() async {
        let published = await upload(headers(of: body), with: NamedValue("x-amz-acl", "public-read"))
        guard published.isDone else { return judge(.unsignedACL, [published], isObeyed: false) }
        let list = await ask("GET", .get, query: [NamedValue("acl", "")])
        // The credential may not read access lists, or the store has none. The upload alone says nothing.
        guard list.isDone else { return mark(.skipped, .unsignedACL, list) }
        judge(
            .unsignedACL, [published],
            isObeyed: list.answer.map { Self.hold($0.body, "/groups/global/AllUsers") } ?? false)
    }

    private mutating func tryCopying() async {
        // The source is another object, because an object cannot be copied onto itself.
        guard let copy = try? ObjectKey(validation.probeKey.rawValue + "-copy") else { return }
        let other = [UInt8](repeating: UInt8(ascii: "x"), count: body.count)
        let source = NamedValue("x-amz-copy-source", "/\(bucket.name)/\(validation.probeKey)")
        let copied = await upload(headers(of: other), other, as: copy, with: source)
        var read: Reply?
        if copied.isDone { read = await ask("GET", .get, of: copy) }
        await remove(copy, writtenBy: copied)
        judge(.unsignedCopy, [copied, read], isObeyed: read?.answer?.body == body)
    }

    private mutating func tryTimes() async {
        let headers = headers(of: body)
        let ended = await upload(headers, with: UnsignedHeader.removalTime)
        let dated = await upload(headers, with: UnsignedHeader.writeTime)
        var isObeyed = ended.answer?.status == 400 && dated.isDone
        var head: Reply?
        if !isObeyed, dated.isDone {
            head = await ask("HEAD", .head)
            isObeyed = UnsignedHeader.isWriteTime(head?.answer?.field("last-modified"))
        }
        judge(.unsignedTimes, [ended, dated, head], isObeyed: isObeyed && !bucket.externalDeletions)
    }

    private mutating func tryGuessing() async {
        guard let page = try? ObjectKey(validation.probeKey.rawValue + ".html") else { return }
        let guessed = await upload(headers(of: body), as: page, with: UnsignedHeader.typeGuess)
        var head: Reply?
        if guessed.isDone { head = await ask("HEAD", .head, of: page) }
        await remove(page, writtenBy: guessed)
        let isGuessed = UnsignedHeader.isGuessedType(head?.answer?.field("content-type"))
        judge(.unsignedType, [guessed, head], isObeyed: isGuessed)
    }

    private mutating func tryOtherBytes() async {
        let wrong = DigestAlgorithm.sha256.digest(of: Array("other bytes".utf8))
        var claim = headers(of: body, claiming: wrong)
        if !bucket.honoursUnsignedHeaders { claim.append(NamedValue("x-amz-checksum-sha256", wrong.base64)) }
        let unchecked = await upload(claim)
        judge(.checksum, [unchecked], isObeyed: unchecked.isDone)
    }

    /// Notes the result of a step whose requests the store should have refused or ignored. The first reply is that to
    /// the misuse.
    private mutating func judge(_ step: BucketValidation.Step, _ replies: [Reply?], isObeyed: Bool) {
        let replies = replies.compactMap(\.self)
        if !isObeyed, let open = replies.first(where: \.isOpen) { return mark(.skipped, step, open) }
        validation.findings.append(
            BucketValidation.Finding(
                step: step, outcome: isObeyed ? .warned : .passed, failure: isObeyed ? .unexpected : nil,
                status: replies.first?.answer?.status, duration: replies.first?.duration))
    }

    private static func hold(_ text: [UInt8], _ word: String) -> Bool {
        String(decoding: text, as: UTF8.self).contains(word)
    }
}
