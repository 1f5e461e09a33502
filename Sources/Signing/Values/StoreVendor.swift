/// The vendor whose names a request uses.
public enum StoreVendor: Sendable, Hashable, CaseIterable {
    /// Alibaba OSS: `x-oss-…`.
    case alibaba
    /// AWS and compatible stores: `x-amz-…`.
    case amazon
    /// Google Cloud Storage: `x-goog-…`.
    case google

    /// The prefix of the vendor's headers.
    var headerPrefix: String {
        switch self {
        case .alibaba: "x-oss-"
        case .amazon: "x-amz-"
        case .google: "x-goog-"
        }
    }
}
