import FoundationEssentials
import GatewayCore
import LibCrypto
import Signing

extension QualificationRound {
    /// Tries signatures in the header `Authorization`, as the gateway makes them of strings that clients bring.
    func trySignatures() async {
        let delivery = Delivery.remoteSignature
        guard credential.kind == .accessKey, bucket.provider != .gcs else {
            return judge(delivery, .works, "signature", .notJudged, "the credential has no access key for it")
        }
        let key = freshKey()
        guard let call = signed(key) else {
            return judge(delivery, .works, "signature", .notJudged, "the request cannot be signed")
        }
        guard let answer = conclusive(delivery, .works, "signature", await send(call, to: key)) else { return }
        guard answer.isSuccess else {
            let scheme = bucket.provider == .oss ? "OSS version 1" : "AWS version 2"
            return judge(
                delivery, .works, "signature", .notJudged, "\(answer.summary): no signatures of \(scheme) here")
        }
        judge(delivery, .works, "signature", .kept, answer.summary)
        let otherMD5 = DigestAlgorithm.md5.digest(of: Array(Self.body.reversed())).base64
        let changes: [(StorePromise, String, (StoreCall) -> StoreCall)] = [
            (.contentType, "another content type, signed header", { $0.with(header: "content-type", "text/html") }),
            (
                .content, "other bytes with their MD5, signed header",
                { $0.with(header: "content-md5", otherMD5).with(body: Self.body.reversed()) }
            ),
            (.content, "other bytes, signed header", { $0.with(body: Self.body.reversed()) }),
            (.signature, "no signature, signed header", { $0.with(header: "authorization", nil) }),
            (.method, "POST with a signature for PUT", { $0.with(method: "POST") }),
        ]
        for (promise, check, change) in changes {
            let key = freshKey()
            guard let call = signed(key) else { continue }
            await expectRefused(delivery, promise, check, at: key, await send(change(call), to: key))
        }
        let elsewhere = freshKey("object.exe")
        let own = freshKey()
        if let call = signed(own), let url = signed(elsewhere)?.url {
            await expectRefused(
                delivery, .key, "another key, signed header", at: elsewhere,
                await send(call.with(url: url), to: elsewhere))
        }
        let late = freshKey()
        if let call = signed(late, secondsAgo: 3600) {
            await expectRefused(
                delivery, .expiry, "an hour later, signed header", at: late, await send(call, to: late))
        }
    }

    private func signed(_ key: String, secondsAgo: Int = 0) -> StoreCall? {
        let date = now().addingTimeInterval(-Double(secondsAgo))
        guard let instant = SigningInstant(epochSeconds: Int64(date.timeIntervalSince1970)) else { return nil }
        do throws(SigningError) {
            let addressing = Addressing(rawValue: bucket.addressing.rawValue) ?? .path
            let address = try BucketAddress(
                endpoint: StoreEndpoint(bucket.endpoint), bucket: bucket.name.rawValue, addressing: addressing)
            let request = SignableRequest(
                method: "PUT", address: address, key: key,
                headers: [
                    NamedValue("content-type", Self.type),
                    NamedValue("content-md5", DigestAlgorithm.md5.digest(of: Self.body).base64),
                ] + bucket.encryptionHeaders)
            let signingKey = try SigningKeyV2(
                SigningCredential(
                    accessKeyID: credential.accessKeyID, secretAccessKey: credential.secretAccessKey.reveal(),
                    securityToken: credential.sessionToken?.reveal()))
            let authorized =
                switch bucket.provider {
                case .oss: try OSSV1.authorize(request, with: signingKey, at: instant)
                case .aws, .s3, .gcs: try AWSV2.authorize(request, with: signingKey, at: instant)
                }
            return StoreCall(
                method: "PUT", url: authorized.url,
                headers: authorized.headers.filter { $0.name.lowercased() != "host" },
                body: Self.body)
        } catch {
            return nil
        }
    }
}
