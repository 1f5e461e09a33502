/// What the checker knows of the ways to ask, besides the contract.
extension Way {
    /// The deliveries in which each request of a run has an object of its own.
    static let ownObject: Set = ["presigned-url", "post-policy", "redirect", "remote-signature"]

    /// What a row takes of a quota of bytes; `nil` where it is none of its business.
    static func bytes(of delivery: String, method: String) -> Int? {
        switch delivery {
        case "presigned-url" where method == "PUT", "post-policy", "multipart-part": bytes
        default: nil
        }
    }

    /// The method that what is issued is for.
    func method(uploads: Bool) -> String {
        switch self {
        case .oneByOne, .inBatches: uploads ? "PUT" : "GET"
        case .byRedirect, .bySignature: "GET"
        case .byForm: "POST"
        case .byPart: "PUT"
        case .bySession: "*"
        }
    }
}
