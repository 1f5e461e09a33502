extension Quota: ValidatedRow {
    /// Validates a quota before it is created. A byte quota always applies to `PutObject`; the action is set if it is
    /// missing.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` with the field's JSON name.
    public func validated() throws(GatewayError) -> Quota {
        try require(limit >= 0, "limit", "The limit must be 0 or more.")
        guard metric == .bytes else { return self }
        try require(action == nil || action == .putObject, "action", "Bytes are counted for PutObject only.")
        var quota = self
        quota.action = .putObject
        return quota
    }
}
