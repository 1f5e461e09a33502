/// The routes that a listener serves.
public enum APIListener: Sendable {
    /// All routes, where there is only one listener.
    case everything
    /// The routes for app users.
    case app
    /// The routes for admins and operators.
    case inner
}
