extension Grant: ValidatedRow {
    /// Validates a grant before it is created, and converts its content types to lower case.
    ///
    /// A deny grant must have no conditions. Otherwise it would be unclear whether a request that fails a condition is
    /// permitted.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` with the field's JSON name.
    public func validated() throws(GatewayError) -> Grant {
        try require(!actions.isEmpty, "actions", "A grant must cover at least one action.")
        try require(
            effect == .deny || !actions.contains(.listObjects) || prefix.coversManyKeys,
            prefix.isTemplate ? "template" : "prefix",
            "ListObjects requires a prefix that is empty or ends in '/': "
                + "a listing of one key shows all keys that begin with it.")
        try require(
            !prefix.endsLikePattern, prefix.isTemplate ? "template" : "prefix",
            "'*' is not a wildcard here. "
                + "A prefix that ends in '/', such as 'a/', covers all keys below it, "
                + "and an empty prefix covers the whole bucket.")
        if let notBefore, let notAfter {
            try require(notBefore < notAfter, "notAfter", "'notAfter' must be later than 'notBefore'.")
        }
        let lines = note.utf8.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\t") })
        try require(
            note.utf8.count <= 1000 && lines.allSatisfy { String(Substring($0)).isLine(0...1000) }, "note",
            "A note must not exceed 1,000 bytes or contain control characters."
        )
        var grant = self
        grant.conditions = try conditions.validated(for: actions)
        try require(
            effect == .allow || grant.conditions == GrantConditions(), "conditions",
            "A grant that denies must not have conditions."
        )
        return grant
    }
}

extension KeyPrefix {
    /// Whether the last segment is only `*`, which is a wildcard in the policies of stores. In a grant it would cover
    /// one key with that name.
    fileprivate var endsLikePattern: Bool {
        text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last?
            .elementsEqual("*".utf8) ?? false
    }
}

extension GrantConditions {
    /// Maximum number of entries in a list.
    private static let maxListCount = 64
    /// The largest object that any supported store accepts: 5 TiB.
    private static let maxObjectSize: Int64 = 5 << 40

    /// Validates conditions for the actions of their grant, and converts content types to lower case.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` with the field's JSON name.
    public func validated(for actions: Set<Action>) throws(GatewayError) -> GrantConditions {
        let forUploads = [
            ("contentTypes", contentTypes != nil), ("maxBytes", maxBytes != nil),
            ("requireContentMD5", requireContentMD5 != nil),
        ]
        let forDownloads = [
            ("forceDownload", forceDownload != nil), ("allowResponseContentType", allowResponseContentType != nil),
            ("allowVersions", allowVersions != nil),
        ]
        for (list, action) in [(forUploads, Action.putObject), (forDownloads, .getObject)] {
            for (field, isThere) in list {
                try require(
                    !isThere || actions.contains(action), "conditions." + field,
                    "The condition applies only to \(action.rawValue)."
                )
            }
        }
        try require(
            maxBytes.map { 0...Self.maxObjectSize ~= $0 } ?? true, "conditions.maxBytes",
            "The size must be 0 to 5,497,558,138,880 bytes."
        )
        try require(
            maxTTL.map { 1...schemeMaxTTL ~= $0 } ?? true, "conditions.maxTTL",
            "The value must be 1 to 604,800 seconds."
        )
        try Self.check(sourceCIDRs, "conditions.sourceCIDRs", "networks such as '192.0.2.0/24'") {
            IPNetwork($0) != nil
        }
        try Self.check(contentTypes, "conditions.contentTypes", "'type/subtype' or 'type/*'") {
            MediaType.pattern($0) != nil
        }
        var conditions = self
        conditions.contentTypes = contentTypes?.compactMap(MediaType.pattern)
        return conditions
    }

    private static func check(
        _ list: [String]?, _ field: String, _ form: String, isGood: (String) -> Bool
    ) throws(GatewayError) {
        guard let list else { return }
        try require(1...maxListCount ~= list.count, field, "The list must have 1 to 64 entries.")
        try require(list.allSatisfy(isGood), field, "The entries must be \(form).")
    }
}
