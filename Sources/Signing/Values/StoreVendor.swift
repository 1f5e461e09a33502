/// Whose words a request uses.
public enum StoreVendor: Sendable, Hashable, CaseIterable {
    /// Alibaba OSS: `x-oss-…`.
    case alibaba
    /// AWS and compatible stores: `x-amz-…`.
    case amazon
    /// Google Cloud Storage: `x-goog-…`.
    case google

    /// What the names of the vendor's headers begin with.
    var headerPrefix: String {
        switch self {
        case .alibaba: "x-oss-"
        case .amazon: "x-amz-"
        case .google: "x-goog-"
        }
    }
}
