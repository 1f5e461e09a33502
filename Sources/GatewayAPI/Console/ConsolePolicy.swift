import GatewayCore
import HTTPServing
import HTTPTypes

/// The header fields with which browsers confine the console.
enum ConsolePolicy {
    /// The most bytes that the origins of `connect-src` may take. Proxies refuse heads of more than some 4 KiB.
    static let maxOriginBytes = 2048

    /// The fields of a page. It may send requests to the gateway, to the token endpoints of the issuers with sign-in
    /// and to the stores of the buckets, and may load nothing that the gateway does not serve.
    static func pageFields(offers: [SignInOffers.Offer], stores: [StoreSite]) -> HeaderFields {
        let origins = connectOrigins(offers: offers, stores: stores)
        return fields(
            """
            default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
            connect-src \((["'self'"] + origins).joined(separator: " ")); form-action 'none'; base-uri 'none'; \
            frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'
            """)
    }

    /// The fields of all other files. A file that is opened as a page may do nothing.
    static let fileFields = fields("default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")

    private static func fields(_ contentPolicy: String) -> HeaderFields {
        [
            .contentSecurityPolicy: contentPolicy, .xContentTypeOptions: "nosniff", .referrerPolicy: "no-referrer",
            .crossOriginOpenerPolicy: "same-origin", .crossOriginResourcePolicy: "same-origin",
            .permissionsPolicy: "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
        ]
    }

    /// The origins besides the gateway's own, those of issuers first, as many as there is room for.
    ///
    /// Everybody who reaches the listener can read the policy, and so the hosts of the stores, internal ones and
    /// custom domains included. Where names of buckets precede the host, the policy has `*` in their place.
    static func connectOrigins(offers: [SignInOffers.Offer], stores: [StoreSite]) -> [String] {
        let issuers = offers.compactMap { offer in
            offer.endpoints.flatMap { WebOrigin(ofURL: $0.token) }.flatMap { $0.isTrustworthy ? $0.text : nil }
        }
        let sites = stores.compactMap { store -> String? in
            guard let origin = WebOrigin(ofURL: store.endpoint) else { return nil }
            guard store.hasBucketsAsHosts, let mark = origin.text.utf8.firstIndex(of: UInt8(ascii: "/")) else {
                return origin.text
            }
            let host = origin.text.utf8.index(mark, offsetBy: 2)
            return "\(origin.text[..<host])*.\(origin.text[host...])"
        }
        var seen: Set<String> = []
        var room = maxOriginBytes
        return (issuers + sites).filter { origin in
            guard seen.insert(origin).inserted else { return false }
            room -= origin.utf8.count + 1
            return room >= 0
        }
    }
}
