/// Facts about the ways of asking that the checker knows in addition to the contract.
extension Way {
    /// Whether the checker can read the answers. That of a signed request has no identifier, and cookies have no URL.
    var isJudged: Bool { self != .byRequest && self != .byCookies }

    /// The deliveries for which every request of a run has an object of its own.
    static let ownObject: Set = ["presigned-url", "post-policy", "redirect", "remote-signature"]

    /// The bytes that a row charges to a quota of bytes; `nil` where such a quota does not apply.
    static func bytes(of delivery: String, method: String) -> Int? {
        switch delivery {
        case "presigned-url" where method == "PUT", "post-policy", "multipart-part": bytes
        default: nil
        }
    }

    /// The method for which the credential is issued.
    func method(uploads: Bool) -> String {
        switch self {
        case .oneByOne, .inBatches: uploads ? "PUT" : "GET"
        case .byRedirect, .bySignature, .byRequest, .byCookies: "GET"
        case .byForm: "POST"
        case .byPart: "PUT"
        case .bySession: "*"
        }
    }
}
