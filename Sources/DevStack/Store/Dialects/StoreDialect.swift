/// The two languages of the store.
enum StoreDialect: Sendable, CaseIterable {
    /// Amazon S3.
    case s3
    /// Alibaba OSS.
    case oss

    /// The prefix of the vendor's headers.
    var headerPrefix: String {
        switch self {
        case .s3: "x-amz-"
        case .oss: "x-oss-"
        }
    }

    /// The prefix of the headers that hold an object's own metadata.
    var metadataPrefix: String { headerPrefix + "meta-" }

    /// Returns the name under which a stored header is shown. Metadata is stored under S3's prefix.
    func name(ofStored name: String) -> String {
        let prefix = StoreDialect.s3.metadataPrefix
        return name.hasPrefix(prefix) ? metadataPrefix + name.dropFirst(prefix.utf8.count) : name
    }

    /// The least size of a part that is not the last one, in bytes.
    var leastPartBytes: Int64 {
        switch self {
        case .s3: 5 << 20
        case .oss: 100 << 10
        }
    }

    /// The type of an object that was uploaded without one.
    var standardType: String {
        switch self {
        case .s3: "binary/octet-stream"
        case .oss: "application/octet-stream"
        }
    }
}

/// The schemes that sign requests.
enum StoreScheme: String, Sendable, CaseIterable {
    case awsV4, awsV2, ossV4, ossV1

    /// The language of requests that the scheme signs.
    var dialect: StoreDialect {
        switch self {
        case .awsV4, .awsV2: .s3
        case .ossV4, .ossV1: .oss
        }
    }
}
