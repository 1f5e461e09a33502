import HTTPTesting

/// The ways in which clients that race ask for URLs.
enum Asking: String, CaseIterable, Sendable {
    case oneByOne = "one at a time"
    case inBatches = "seven at a time"

    /// The bytes that ask for a download.
    func request(for key: String, from bucket: String, by user: User) throws -> RawRequest {
        let download = JSON.download(key, from: bucket)
        switch self {
        case .oneByOne: return try user.client.request("POST", "/v1/presigned-urls", download)
        case .inBatches:
            let items = JSON.array(Array(repeating: download, count: 7))
            return try user.client.request("POST", "/v1/presigned-urls/batch", ["items": items])
        }
    }
}
