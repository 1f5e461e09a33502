import GatewayCore

/// The step that refuses callers without the role that an operation needs, and delegated admins of operations that are
/// not for them.
enum RequireRole {
    /// Refuses a caller without the role that the operation needs. A role that is limited to scopes opens only the
    /// routes that say so (``Route/delegated()``); what it reaches there, use cases and stores decide.
    ///
    /// - Throws: `roleRequired`, `outsideAdminScope`.
    static func check(_ caller: Caller, for request: APIRequest) throws(GatewayError) {
        let route = request.route
        switch route.access {
        case .anyone, .store, .user, .userOrTicket, .ticket, .webIdentity: break
        case .auditor:
            guard caller.has(.auditor) || caller.has(.admin) else { throw .roleRequired(Role.auditor.rawValue) }
            if !route.isDelegated { try caller.authority.sees.requireAll() }
        case .admin:
            guard caller.has(.admin) else { throw .roleRequired(Role.admin.rawValue) }
            if !route.isDelegated { try caller.authority.changes.requireAll() }
        }
    }
}
