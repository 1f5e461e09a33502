/// Which names of one share are being looked up, and who waits for them.
///
/// There is one look-up of a name at a time, and a bounded number of all. One whose callers have all gone still counts
/// until it ends, so that look-ups that hang cannot pile up.
struct NameQueue {
    typealias Ticket = TransferTurns.Ticket

    private let limit: Int
    private var underWay: Set<String> = []
    /// Names that nobody looks up yet, in order.
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

    /// Waits no more.
    mutating func leave(_ ticket: Ticket, for name: String) {
        callers[name]?.removeAll { $0 == ticket }
        guard callers[name]?.isEmpty == true else { return }
        callers[name] = nil
        next.removeAll { $0 == name }
    }

    /// The next name to be looked up, where there may be one more; it counts until ``end(_:)``.
    mutating func begin() -> String? {
        guard underWay.count < limit, !next.isEmpty else { return nil }
        let name = next.removeFirst()
        underWay.insert(name)
        return name
    }

    /// A look-up has ended; gives those who wait for it.
    mutating func end(_ name: String) -> [Ticket] {
        underWay.remove(name)
        return callers.removeValue(forKey: name) ?? []
    }
}
