import Synchronization

/// A request whose head has arrived. The server returns it with the request, and again if it answers in place of the
/// gateway.
final class BegunRequest: Sendable {
    /// The route to which method and target lead.
    let match: RouteMatch
    private let knownID = Mutex<String?>(nil)

    init(_ match: RouteMatch) {
        self.match = match
    }

    /// The id under which the gateway answers the request; `nil` until it begins to. An answer that the server makes
    /// later has the same id, by which one can find what the request did.
    var id: String? {
        get { knownID.withLock { $0 } }
        set { knownID.withLock { $0 = newValue } }
    }
}
