import Bytes

/// The vendor's headers that a client may set, and the values that they may have.
struct HeaderRules {
    private let vendor: StoreVendor
    private let encryption: [NamedValue]

    init(_ vendor: StoreVendor, _ rules: StringRules) {
        self.vendor = vendor
        encryption = rules.encryption
    }

    /// Refuses a header of the vendor that may not be set, or not to this value. Date and token are checked elsewhere.
    func check(_ header: NamedValue) throws(StringToSignRefusal) {
        if let bound = encryption.first(where: { $0.name == header.name }) {
            guard bound.value.isSameBytes(as: header.value) else { throw .valueNotAllowed }
            return
        }
        let name = header.name.dropFirst(vendor.headerPrefix.count)
        if name.hasPrefix("meta-"), name.utf8.count > 5, !ReservedMetadata.contains(name.dropFirst(5)) { return }
        guard let allowed = Self.allowed[vendor]?[String(name)] else { throw Self.refusal(of: name) }
        guard allowed(header.value) else { throw name == "object-acl" ? .accessControl : .valueNotAllowed }
    }

    private static func refusal(of name: Substring) -> StringToSignRefusal {
        if name.hasPrefix("copy-source") { return .copySource }
        if name.hasPrefix("callback") { return .callback }
        if name == "acl" || name.hasPrefix("grant-") || name.hasSuffix("-acl") { return .accessControl }
        return .headerNotAllowed
    }

    private typealias Rule = @Sendable (String) -> Bool

    private static let allowed: [StoreVendor: [String: Rule]] = [
        .alibaba: [
            "forbid-overwrite": { ["true", "false"].contains($0) },
            "hash-sha1": isToken,
            "storage-class": { ["Standard", "IA", "Archive", "ColdArchive", "DeepColdArchive"].contains($0) },
            "object-acl": { ["private", "default"].contains($0) },
            "content-sha256": isToken,
            "range-behavior": { $0 == "standard" },
        ],
        .amazon: [
            "storage-class": isToken,
            "content-sha256": isToken,
            "checksum-algorithm": isToken,
            "checksum-mode": { $0 == "ENABLED" },
            "checksum-type": isToken,
            "sdk-checksum-algorithm": isToken,
            "checksum-crc32": isToken,
            "checksum-crc32c": isToken,
            "checksum-crc64nvme": isToken,
            "checksum-sha1": isToken,
            "checksum-sha256": isToken,
        ],
        .google: [
            "storage-class": isToken,
            "content-sha256": isToken,
            "content-length-range": isToken,
            "hash": isToken,
            "if-generation-match": isToken,
        ],
    ]

    private static let isToken: Rule = { text in
        text.consists(of: .unreserved.union("+/=,"), count: 1...128)
    }
}
