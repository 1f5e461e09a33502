extension GroupMember: ValidatedRow {
    /// Validates a membership before it is created: the member must be a user, and the group a group.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` with the field's JSON name.
    public func validated() throws(GatewayError) -> GroupMember {
        try require(group.isGroup, "group", "A group must have the form 'group:<name>'.")
        try require(member.isUser, "member", "A member must have the form 'user:<name>'.")
        return self
    }
}
