import GatewayCore
import Signing

extension QualificationRound {
    /// Tries links for downloads, which redirects lead to as well.
    func tryDownloads() async {
        let delivery = Delivery.presignedURL
        let (key, otherKey) = (freshKey(), freshKey("secret.bin"))
        let secret = Array("an object that the link is not for".utf8)
        guard await place(Self.body, at: key), await place(secret, at: otherKey),
            let link = try? downloadLink(key)
        else { return leaveOpen(delivery, .works, "download", why("nothing to download")) }
        let answer = await use(link)
        guard expectWorks(delivery, "download", answer, where: { $0.status == 200 && $0.body == Self.body }) else {
            return
        }
        let text = LinkText(link.url)
        var changes: [(StorePromise, String, String?)] = [
            (.key, "another key, for a download", text.forKey(otherKey, insteadOf: key)),
            (.signature, "another signature, for a download", text.wronglySigned),
            (.signature, "no signature, for a download", text.unsigned),
            (.signature, "no parameter, for a download", text.bare),
            (.expiry, "a later end, for a download", text.longerLived),
        ]
        changes.append(
            (.expiry, "after its end, for a download", try? downloadLink(key, secondsAgo: 120, expiresIn: 60).url))
        for case (let promise, let check, let url?) in changes {
            expectUnread(
                delivery, promise, check, await send(StoreCall(method: "GET", url: url, headers: link.headers)))
        }
        for method in ["PUT", "DELETE"] {
            let call = StoreCall(
                method: method, url: link.url, headers: [], body: method == "PUT" ? Array("overwritten".utf8) : nil)
            await expectRefused(
                delivery, .method, "\(method) with a link for GET", at: key, await send(call, to: key),
                unless: Self.body)
        }
        await tryAnswerHeaders(key)
    }

    /// What decides whether a browser shows an object or saves it.
    private func tryAnswerHeaders(_ key: String) async {
        let delivery = Delivery.presignedURL
        guard bucket.trialBinding.bindsAnswerHeaders, let plain = try? downloadLink(key) else {
            return judge(
                delivery, .answerHeaders, "headers of the answer", .notJudged, "this scheme does not bind them")
        }
        let name = "response-content-disposition"
        let bound = try? downloadLink(key) { fields in
            var response = ResponseOverrides.Fields()
            response.contentDisposition = "attachment"
            fields.response = response
        }
        guard let bound else { return }
        let answer = await use(bound)
        guard
            expectWorks(
                delivery, "download as an attachment", answer,
                where: { $0.field("content-disposition") == "attachment" })
        else { return }
        let (text, plainText) = (LinkText(bound.url), LinkText(plain.url))
        func isOpen(_ answer: StoreAnswer) -> Bool { answer.field("content-disposition") != "attachment" }
        func isPage(_ answer: StoreAnswer) -> Bool { answer.field("content-type") == "text/html" }
        let changes: [(String, String?, (StoreAnswer) -> Bool)] = [
            ("another disposition", text.with(name, "inline"), isOpen),
            ("no disposition", text.with(name, nil), isOpen),
            // MinIO decodes a parameter of version 2 before it separates it from the next one.
            ("a disposition inside another parameter", text.hiding(name, in: "x"), isOpen),
            ("a content type, unsigned", plainText.adding("response-content-type", "text%2Fhtml"), isPage),
            // And it finds such a parameter in any capitals.
            ("a content type in capitals", plainText.adding("Response-Content-Type", "text%2Fhtml"), isPage),
        ]
        for case (let check, let url?, let isObeyed) in changes {
            let tried = await send(StoreCall(method: "GET", url: url, headers: []))
            guard let answer = conclusive(delivery, .answerHeaders, check, tried) else { continue }
            judge(
                delivery, .answerHeaders, check, answer.isSuccess && isObeyed(answer) ? .broken : .kept, answer.summary)
        }
    }
}
