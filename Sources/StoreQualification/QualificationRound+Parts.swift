import FoundationEssentials
import GatewayCore
import Bytes
import Signing

extension QualificationRound {
    /// Tries an upload in parts. What parts bind is judged by whether the store took them.
    func tryParts() async {
        let delivery = Delivery.multipartPart
        let key = freshKey()
        guard let upload = await start(key), let other = await start(key) else { return }
        guard let link = part(1, of: upload, key, Self.body) else {
            return judge(delivery, .works, "part", .notJudged, "this scheme cannot sign parts")
        }
        let text = LinkText(link.url)
        let call = StoreCall(link, Self.body)
        let changes: [(StorePromise, String, StoreCall?)] = [
            (.part, "another number", text.with("partnumber", "2").map { call.with(url: $0) }),
            (.part, "another upload", text.with("uploadid", other.percentEncoded).map { call.with(url: $0) }),
            (.content, "other bytes, as a part", call.with(body: Self.body.reversed())),
            (.signature, "another signature, for a part", text.wronglySigned.map { call.with(url: $0) }),
            (.signature, "no signature, for a part", call.with(url: text.unsigned)),
            (.method, "DELETE with a link for a part", call.with(method: "DELETE").with(body: nil)),
        ]
        for case (let promise, let check, let changed?) in changes {
            judgeRefused(promise, check, await send(changed, to: key))
        }
        if bucket.trialBinding.bindsLengthOfParts, let bound = part(1, of: upload, key, Self.body, bindsMD5: false) {
            judgeRefused(
                .size, "a byte more, as a part", await send(StoreCall(bound).with(body: Self.body + [0x78])))
        }
        if let late = part(1, of: upload, key, Self.body, secondsAgo: 120, expiresIn: 60) {
            judgeRefused(.expiry, "after its end, for a part", await use(late, Self.body))
        }
        let answer = await send(call)
        if expectWorks(delivery, "part", answer, where: { $0.isSuccess && $0.field("etag") != nil }),
            let tag = answer?.field("etag")
        {
            let done = await complete(upload, key, tag)
            if expectWorks(delivery, "completion", done, where: \.isSuccess) {
                forget(upload: upload)
                await expectStored(delivery, "upload in parts, read back", key)
            }
        }
        let check = "a part of an upload that was aborted"
        guard await abort(other, key) else {
            return leaveOpen(delivery, .part, check, why("the upload could not be aborted"))
        }
        if let late = part(1, of: other, key, Self.body) { judgeRefused(.part, check, await use(late, Self.body)) }
    }

    private func judgeRefused(_ promise: StorePromise, _ check: String, _ answer: StoreAnswer?) {
        guard let answer = conclusive(.multipartPart, promise, check, answer) else { return }
        let verdict: Verdict = answer.isSuccess ? .broken : 400..<500 ~= answer.status ? .kept : .notJudged
        judge(.multipartPart, promise, check, verdict, answer.summary)
    }

    private func part(
        _ number: Int, of upload: String, _ key: String, _ body: [UInt8], bindsMD5: Bool = true, secondsAgo: Int = 0,
        expiresIn: Int = life
    ) -> TrialLink? {
        try? signer.trialPart(
            number, of: upload, fields(key, body, bindsMD5: bindsMD5), in: bucket, with: credential,
            expiresIn: expiresIn, at: now().addingTimeInterval(-Double(secondsAgo)))
    }

    func url(_ method: String, _ key: String, _ headers: [NamedValue], _ query: [NamedValue]) -> String? {
        try? signer.url(
            method, of: ObjectKey(key), in: bucket, with: credential, headers: headers, query: query, expiresIn: 60,
            at: now()
        ).reveal()
    }

    /// Starts an upload in parts. Records why there is none, and returns `nil` then.
    private func start(_ key: String) async -> String? {
        let check = "start of an upload in parts"
        let headers = [NamedValue("content-type", Self.type)] + bucket.encryptionHeaders
        guard let url = url("POST", key, headers, [NamedValue("uploads", "")]) else {
            judge(.multipartPart, .works, check, .notJudged, "this scheme cannot sign it")
            return nil
        }
        let tried = await send(StoreCall(method: "POST", url: url, headers: headers, body: []))
        guard let answer = conclusive(.multipartPart, .works, check, tried) else { return nil }
        guard let id = answer.element("UploadId"), id.consists(of: .visible, count: 1...1024) else {
            let detail = "\(answer.summary): the store did not start one"
            // A store that has such uploads may refuse this credential.
            if answer.status == 403 {
                leaveOpen(.multipartPart, .works, check, detail)
            } else {
                judge(.multipartPart, .works, check, .notJudged, detail)
            }
            return nil
        }
        touch(upload: id, of: key)
        return id
    }

    private func complete(_ upload: String, _ key: String, _ tag: String) async -> StoreAnswer? {
        guard let url = url("POST", key, [], [NamedValue("uploadId", upload)]) else { return nil }
        let part = "<Part><PartNumber>1</PartNumber><ETag>\(tag)</ETag></Part>"
        let body = "<CompleteMultipartUpload>\(part)</CompleteMultipartUpload>"
        return await send(StoreCall(method: "POST", url: url, headers: [], body: Array(body.utf8)), to: key)?.completion
    }
}
