import FoundationEssentials
import GatewayCore
import Bytes
import Signing

extension QualificationRound {
    /// Tries browser forms.
    func tryForms() async {
        let delivery = Delivery.postPolicy
        let key = freshKey()
        guard let form = form(for: key), let named = bucket.trialBinding.form else {
            return judge(delivery, .works, "form", .notJudged, "this scheme has no forms")
        }
        let answer = await send(form.call(Self.body), to: key)
        if let answer, !answer.isSuccess, answer.status != 403, !answer.isOpen {
            return judge(delivery, .works, "form", .notJudged, "\(answer.summary): the store takes no forms")
        }
        guard expectWorks(delivery, "form", answer, where: \.isSuccess) else { return }
        await expectStored(delivery, "form, read back", key)
        await expectTypeOfForm()
        let more = NamedValue(named.accessListField ?? "acl", "public-read")
        let metadata = bucket.trialBinding.metadataPrefix + "owner"
        let elsewhere = freshKey("elsewhere.bin")
        let changes: [(StorePromise, String, [UInt8], (inout TrialForm) -> Void)] = [
            (.size, "too large, in a form", [UInt8](repeating: 0x78, count: Self.formLengths.upperBound + 1), { _ in }),
            (.size, "too small, in a form", [], { _ in }),
            (.contentType, "another content type, in a form", Self.body, { $0.set(named.typeField, "text/html") }),
            (.metadata, "other metadata, in a form", Self.body, { $0.set(metadata, "mallory") }),
            (
                named.accessListField == nil ? .nothingMore : .metadata, "another ACL, in a form", Self.body,
                {
                    $0.set(more.name, nil)
                    $0.add(more.name, more.value)
                }
            ),
            (.signature, "no policy", Self.body, { $0.set("policy", nil) }),
            (.signature, "another policy", Self.body, { $0.widenPolicy() }),
            (.signature, "another signature, in a form", Self.body, { $0.spoilSignature() }),
        ]
        for (promise, check, body, change) in changes {
            let key = freshKey()
            guard var form = self.form(for: key) else { continue }
            change(&form)
            await expectRefused(delivery, promise, check, at: key, await send(form.call(body), to: key))
        }
        if var form = self.form(for: freshKey()) {
            form.set("key", elsewhere)
            await expectRefused(
                delivery, .key, "another key, in a form", at: elsewhere, await send(form.call(Self.body), to: elsewhere)
            )
        }
        let late = freshKey()
        if let form = self.form(for: late, secondsAgo: 120, expiresIn: 60) {
            await expectRefused(
                delivery, .expiry, "after its end, in a form", at: late, await send(form.call(Self.body), to: late))
        }
    }

    /// Sends a form in which everything but the bound field names another type, as a browser does that takes a file
    /// for something else.
    private func expectTypeOfForm() async {
        let key = freshKey()
        guard var form = form(for: key), let field = bucket.trialBinding.form?.typeField else { return }
        form.fileType = "text/html"
        if field.lowercased() != "content-type" { form.add("Content-Type", "text/html") }
        let check = "the file's own type, in a form"
        let tried = await send(form.call(Self.body), to: key)
        guard let answer = conclusive(.postPolicy, .contentType, check, tried) else { return }
        guard answer.isSuccess,
            let link = try? signer.url(
                "GET", of: ObjectKey(key), in: bucket, with: credential, expiresIn: 60, at: now())
        else { return judge(.postPolicy, .contentType, check, .notJudged, "\(answer.summary): not stored") }
        let read = await send(StoreCall(method: "GET", url: link.reveal(), headers: []))
        guard let stored = conclusive(.postPolicy, .contentType, check, read) else { return }
        let type = stored.field("content-type")
        judge(.postPolicy, .contentType, check, type == Self.type ? .kept : .broken, "stored as \(type ?? "nothing")")
    }

    /// The lengths that the forms admit.
    private static var formLengths: ClosedRange<Int> { 1...100 }

    private func form(for key: String, secondsAgo: Int = 0, expiresIn: Int = life) -> TrialForm? {
        var fields = PostPolicyRequest.Fields()
        fields.bucket = bucket.name.rawValue
        fields.key = key
        fields.contentTypes = [Self.type]
        fields.minBytes = Int64(Self.formLengths.lowerBound)
        fields.maxBytes = Int64(Self.formLengths.upperBound)
        fields.metadata = ["owner": "alice"]
        fields.successActionStatus = 201
        guard
            let signed = try? signer.trialForm(
                fields, in: bucket, with: credential, expiresIn: expiresIn,
                at: now().addingTimeInterval(-Double(secondsAgo)))
        else { return nil }
        return TrialForm(url: signed.url, fields: signed.fields)
    }
}

/// A browser form, to be changed and sent.
private struct TrialForm {
    let url: String
    var fields: [NamedValue]
    /// The type in the head of the file's part.
    var fileType: String?

    private static let boundary = "----sluice-qualify-boundary"

    /// Gives a field another value, or removes it.
    mutating func set(_ name: String, _ value: String?) {
        guard let place = fields.firstIndex(where: { $0.name.lowercased() == name.lowercased() }) else { return }
        if let value { fields[place].value = value } else { fields.remove(at: place) }
    }

    mutating func add(_ name: String, _ value: String) { fields.append(NamedValue(name, value)) }

    /// Lets the policy admit more, without signing it again.
    mutating func widenPolicy() {
        guard let policy = fields.first(where: { $0.name == "policy" }), let bytes = Base64.decode(policy.value) else {
            return
        }
        let text = String(decoding: bytes, as: UTF8.self).replacing("1,100", with: "1,999")
        set("policy", Base64.encode(Array(text.utf8)))
    }

    mutating func spoilSignature() {
        guard let place = fields.firstIndex(where: { $0.name.lowercased().hasSuffix("signature") }) else { return }
        let value = fields[place].value
        fields[place].value = (value.hasPrefix("a") ? "b" : "a") + value.dropFirst()
    }

    /// The request that a browser sends.
    func call(_ file: [UInt8]) -> StoreCall {
        var body: [UInt8] = []
        for field in fields {
            let head = "Content-Disposition: form-data; name=\"\(field.name)\""
            body += Array("--\(Self.boundary)\r\n\(head)\r\n\r\n\(field.value)\r\n".utf8)
        }
        let head = "Content-Disposition: form-data; name=\"file\"; filename=\"object.bin\""
        let type = fileType.map { "\r\nContent-Type: \($0)" } ?? ""
        body += Array("--\(Self.boundary)\r\n\(head)\(type)\r\n\r\n".utf8)
        body += file + Array("\r\n--\(Self.boundary)--\r\n".utf8)
        return StoreCall(
            method: "POST", url: url,
            headers: [NamedValue("content-type", "multipart/form-data; boundary=\(Self.boundary)")], body: body)
    }
}
