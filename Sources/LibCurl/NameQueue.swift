/// The names that one share looks up, and the transfers that wait for them.
///
/// Each name is looked up once at a time, and the number of look-ups is bounded. A look-up counts until it ends, even
/// if no caller waits any more, so that hanging look-ups cannot pile up.
struct NameQueue {
    typealias Ticket = TransferTurns.Ticket

    private let limit: Int
    private var underWay: Set<String> = []
    /// Names whose look-up has not begun, in order.
    private var next: [String] = []
    private var callers: [String: [Ticket]] = [:]

    init(limit: Int) {
        self.limit = limit
    }

    /// Waits for the addresses of a name.
    mutating func join(_ ticket: Ticket, for name: String) {
        if callers[name, default: []].isEmpty, !underWay.contains(name) { next.append(name) }
        callers[name, default: []].append(ticket)
    }

    /// Stops waiting.
    mutating func leave(_ ticket: Ticket, for name: String) {
        callers[name]?.removeAll { $0 == ticket }
        guard callers[name]?.isEmpty == true else { return }
        callers[name] = nil
        next.removeAll { $0 == name }
    }

    /// The next name to look up, if the limit allows one. It counts until ``end(_:)``.
    mutating func begin() -> String? {
        guard underWay.count < limit, !next.isEmpty else { return nil }
        let name = next.removeFirst()
        underWay.insert(name)
        return name
    }

    /// Notes the end of a look-up, and returns the transfers that wait for it.
    mutating func end(_ name: String) -> [Ticket] {
        underWay.remove(name)
        return callers.removeValue(forKey: name) ?? []
    }
}
