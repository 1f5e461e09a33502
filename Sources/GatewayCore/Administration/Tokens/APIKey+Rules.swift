extension APIKey: ValidatedRow {
    /// Validates an API key before it is created.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` with the field's JSON name.
    public func validated() throws(GatewayError) -> APIKey {
        try require(name.isLine(1...128), "name", "The name must be one line of 1 to 128 bytes.")
        try require(principal.isUser, "principal", "An API key must act for a user, 'user:<name>'.")
        try require(principal != .bootstrapAdmin, "principal", "The name is reserved for the operator.")
        try require(
            groups.count <= 64 && groups.allSatisfy(\.isGroup), "groups",
            "At most 64 groups, each 'group:<name>', are allowed."
        )
        try require(adminScopes == nil || !roles.isEmpty, "adminScopes", "Scopes limit roles, and the key has none.")
        return self
    }
}
