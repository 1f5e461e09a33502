import Bytes

/// Processing that Alibaba OSS applies to an object before it sends it (`x-oss-process`).
///
/// Only operations that read nothing but the object itself are accepted. A watermark could show any image of the
/// bucket, and `saveas` writes an object.
/// - SeeAlso: Alibaba Cloud OSS, "Image processing", "Video snapshots".
public struct ObjectProcess: Sendable, Equatable {
    /// The text, such as `image/resize,w_100/format,webp`.
    public let text: String

    private static let imageOperations: Set<String> = [
        "resize", "crop", "circle", "rounded-corners", "indexcrop", "rotate", "auto-orient", "blur", "bright",
        "contrast", "sharpen", "quality", "format", "interlace", "info", "average-hue",
    ]

    /// Validates a text.
    ///
    /// - Parameter text: Up to 512 bytes: `style/name`, `image/operation,…/…`, or `video/snapshot,…`.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `process`.
    public init(_ text: String) throws(GatewayError) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map {
            Substring($0)
        }
        guard text.consists(of: .alphanumeric.union("/,_-."), count: 1...512), parts.count >= 2,
            parts.allSatisfy({ !$0.isEmpty }),
            Self.isKnown(parts[0], parts.dropFirst())
        else {
            throw .invalidArgument(
                field: "process",
                reason:
                    "The value must be 'style/name', 'image/…' with operations that use no other object, or 'video/snapshot,…'."
            )
        }
        self.text = text
    }

    private static func isKnown(_ kind: Substring, _ operations: ArraySlice<Substring>) -> Bool {
        func name(_ operation: Substring) -> String { String(operation.prefix { $0 != "," }) }
        return switch kind {
        case "style": operations.count == 1 && operations.allSatisfy { !$0.utf8.contains(UInt8(ascii: ",")) }
        case "image": operations.allSatisfy { imageOperations.contains(name($0)) }
        case "video": operations.count == 1 && operations.allSatisfy { name($0) == "snapshot" }
        default: false
        }
    }
}
