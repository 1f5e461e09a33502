import FoundationEssentials
import GatewayCore
import Signing

extension QualificationRound {
    /// Tries temporary credentials, narrowed to a place as those of users are.
    ///
    /// - Parameter opener: Opens sessions.
    func trySession(_ opener: any SessionOpener) async {
        let delivery = Delivery.sts
        guard let role = credential.sessionRole, bucket.maxSessionTTL > 0 else {
            return judge(delivery, .works, "session", .notJudged, "the bucket's credential has no sessionRole")
        }
        guard !isTimeUp() else { return judge(delivery, .works, "session", .notJudged, why()) }
        let inside = prefix + "inside/"
        let scope = SessionScope(tryingIn: bucket.name, below: inside)
        let session: SessionCredential
        do throws(GatewayError) {
            session = try await opener.open(
                SessionOrder(
                    credential: credential, role: role, name: "sluice-qualify", policy: role.policy(of: scope),
                    duration: SessionRole.durations.lowerBound, principal: Principal("user:sluice-qualify")))
        } catch {
            let cause = error.cause?.description ?? "no session was opened: \(error)"
            return leaveOpen(delivery, .works, "session", cause)
        }
        let key = inside + "object.bin"
        touch(key)
        let put = await use("PUT", key, session)
        guard expectWorks(delivery, "upload with temporary credentials", put, where: \.isSuccess) else { return }
        let get = await use("GET", key, session)
        expectWorks(delivery, "download with temporary credentials", get) { $0.isSuccess && $0.body == Self.body }
        await tryBeyond(session, key)
    }

    private func tryBeyond(_ session: SessionCredential, _ key: String) async {
        let delivery = Delivery.sts
        // `inside-not/` begins like `inside`, but is another place.
        for outside in [prefix + "outside/object.bin", prefix + "inside-not/object.bin"] {
            touch(outside)
            await expectRefused(
                delivery, .scope, "upload to another place", at: outside, await use("PUT", outside, session))
        }
        let secret = freshKey("secret.bin")
        if await place(Self.body, at: secret) {
            expectUnread(delivery, .scope, "download from another place", await use("GET", secret, session))
            await expectRefused(
                delivery, .scope, "deletion in another place", at: secret, await use("DELETE", secret, session),
                unless: Self.body)
        } else {
            leaveOpen(delivery, .scope, "download from another place", why("nothing to download"))
        }
        await expectRefused(
            delivery, .scope, "deletion", at: key, await use("DELETE", key, session), unless: Self.body)
        if bucket.provider == .oss {
            let publishing = NamedValue("x-oss-object-acl", "public-read")
            let published = key + "-published"
            touch(published)
            await expectRefused(
                delivery, .scope, "publishing an object", at: published,
                await use("PUT", published, session, headers: [publishing]))
        }
        expectUnread(delivery, .scope, "reading the ACL", await use("GET", key, session, [NamedValue("acl", "")]))
        expectUnread(delivery, .scope, "listing", await use("GET", nil, session))
        var other = session
        other.sessionToken = Secret(String(session.sessionToken.reveal().dropLast(8)) + "AAAAAAAA")
        expectUnread(delivery, .signature, "another token", await use("GET", key, other))
    }

    /// Sends a request that the holder of a session signed.
    private func use(
        _ method: String, _ key: String?, _ session: SessionCredential, _ query: [NamedValue] = [],
        headers more: [NamedValue] = []
    ) async -> StoreAnswer? {
        var holder = credential
        holder.kind = .accessKey
        holder.accessKeyID = session.accessKeyID
        holder.secretAccessKey = session.secretAccessKey
        holder.sessionToken = session.sessionToken
        let type = NamedValue("content-type", Self.type)
        let headers = (method == "PUT" ? [type] + bucket.encryptionHeaders : []) + more
        guard
            let url = try? URLSigner().url(
                method, of: key.map { (text) throws(GatewayError) in try ObjectKey(text) }, in: bucket, with: holder,
                headers: headers, query: query, expiresIn: 60, at: now())
        else { return nil }
        return await send(
            StoreCall(method: method, url: url.reveal(), headers: headers, body: method == "PUT" ? Self.body : nil),
            to: key)
    }
}
