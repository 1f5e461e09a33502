import GatewayCore
import LibCurl
import Signing

extension ProbeRound {
    /// Reads the probe object as users of each public endpoint do. The gateway need not reach them all.
    mutating func tryEndpoints() async {
        let body = body
        for name in endpoints {
            let place = bucket.at(name)
            let reply = await ask("GET", .get, at: place, timeout: BucketProbe.endpointTimeout)
            let isRead = note(.endpoint, reply, endpoint: name) { $0.status == 200 && $0.body == body }
            guard let place, place.hasCDNLinks else { continue }
            if isRead { await tryLinks(at: place, name) } else { skipLinks(at: name) }
        }
    }

    mutating func skipEndpoints() {
        for name in endpoints {
            skip(.endpoint, endpoint: name)
            if bucket.at(name)?.hasCDNLinks == true { skipLinks(at: name) }
        }
    }

    private var endpoints: [PublicEndpoint.Name] {
        PublicEndpoint.Name.allCases.filter { bucket.publicEndpoints[$0] != nil }
    }

    /// Tries what a content delivery network must refuse: reading without a signature or by a link that has ended, and
    /// uploading by a link for a download.
    private mutating func tryLinks(at place: Bucket, _ name: PublicEndpoint.Name) async {
        let timeout = BucketProbe.endpointTimeout
        func isRefused(_ answer: HTTPTransfer.Answer) -> Bool {
            300..<500 ~= answer.status && !ProbeFailure(answer).isTemporary
        }
        let unsigned = await ask(.unsigned, .get, at: place, timeout: timeout)
        note(.unsignedLink, unsigned, endpoint: name, isAsHoped: isRefused)
        let expired = await ask(.expired("GET"), .get, at: place, timeout: timeout)
        note(.expiredLink, expired, endpoint: name, isAsHoped: isRefused)
        let upload = await ask(
            "GET", .put(body: body), at: place, fields: [HTTPTransfer.Field(Self.type.name, Self.type.value)],
            timeout: timeout)
        noteTrial(upload)
        note(.uploadByLink, upload, endpoint: name, isAsHoped: isRefused)
        if place.linksTakeParameters { await tryParameters(at: place, name) }
    }

    /// Reads another object by a link with a parameter of Alibaba OSS added. The CDN must not have seen it: a cache may
    /// ignore parameters that the CDN hands to the store.
    private mutating func tryParameters(at place: Bucket, _ name: PublicEndpoint.Name) async {
        guard let key = try? ObjectKey(validation.probeKey.rawValue + "-added") else { return }
        let written = await upload(headers(of: body), as: key)
        var added: Reply?
        if written.isDone {
            // The object is no image, so OSS refuses to tell its size. All others take no notice.
            added = await ask(
                .extended("GET", by: "x-oss-process=image%2Finfo"), .get, of: key, at: place,
                timeout: BucketProbe.endpointTimeout)
        }
        await remove(key, writtenBy: written)
        guard let added else { return skip(.addedParameter, endpoint: name) }
        let body = body
        note(.addedParameter, added, endpoint: name) {
            $0.status == 200 && $0.body == body && !place.passesParametersToOSS
        }
    }

    private mutating func skipLinks(at name: PublicEndpoint.Name) {
        skip(.unsignedLink, .expiredLink, .uploadByLink, endpoint: name)
        if bucket.at(name)?.linksTakeParameters == true { skip(.addedParameter, endpoint: name) }
    }
}
