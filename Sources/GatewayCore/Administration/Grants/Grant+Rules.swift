extension Grant: ValidatedRow {
    /// Validates a grant before it is created, and gives its conditions the one form in which they are written.
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
    /// The conditions that are `false` if they are absent.
    private static var flags: [WritableKeyPath<GrantConditions, Bool?>] {
        [\.requireContentMD5, \.forceDownload, \.allowResponseContentType, \.allowVersions]
    }

    /// Validates conditions for the actions of their grant, and gives them one form, so that grants that say the same
    /// compare equal: what is `false` is absent; lists are in order, without repetitions; content types are in lower
    /// case, and networks in their canonical text.
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
        conditions.contentTypes = contentTypes.map { Set($0.compactMap(MediaType.pattern)).sorted() }
        conditions.sourceCIDRs = sourceCIDRs.map { Set($0.compactMap { IPNetwork($0)?.description }).sorted() }
        for flag in Self.flags where conditions[keyPath: flag] == false { conditions[keyPath: flag] = nil }
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
