import GatewayCore

/// The step that refuses callers without the role that an operation needs.
enum RequireRole {
    /// Refuses a caller without the role that the operation needs.
    ///
    /// - Throws: `roleRequired`.
    static func check(_ caller: Caller, for request: APIRequest) throws(GatewayError) {
        switch request.route.access {
        case .anyone, .store, .user, .userOrTicket: break
        case .auditor:
            guard caller.roles.contains(.auditor) || caller.roles.contains(.admin) else {
                throw .roleRequired(Role.auditor.rawValue)
            }
        case .admin:
            guard caller.roles.contains(.admin) else { throw .roleRequired(Role.admin.rawValue) }
        }
    }
}
