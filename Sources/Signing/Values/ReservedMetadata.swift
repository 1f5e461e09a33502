import Bytes

/// Names of metadata that a store takes for more than metadata. Nobody may choose them for an upload.
///
/// MinIO unpacks an upload with `snowball-auto-extract` as an archive, to any keys. OpenStack Swift answers requests
/// for an object with `deleted` as if it were missing.
public enum ReservedMetadata {
    private static let beginnings = ["snowball-", "minio-"]

    /// Whether a name, without the vendor's prefix, is reserved.
    public static func contains(_ name: some StringProtocol) -> Bool {
        let name = name.lowercased()
        return name.isSameBytes(as: "deleted") || beginnings.contains { name.utf8.starts(with: $0.utf8) }
    }
}
