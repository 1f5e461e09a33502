/// A dictionary bounded in number and cost; what was used longest ago leaves first.
///
/// A hit relinks two neighbours in an array and allocates nothing.
package struct LeastRecentlyUsed<Key: Hashable, Value> {
    private struct Node {
        var key: Key
        var value: Value?
        var cost: Int32
        var newer: Int32
        var older: Int32
    }

    private static var none: Int32 { -1 }

    /// Where nodes stand.
    private var table = SlotTable()
    private var nodes: [Node] = []
    private var free: [Int32] = []
    private var newest = none
    private var oldest = none
    private let maxCount: Int
    private let maxCost: Int

    /// Costs of all entries.
    package private(set) var cost = 0

    /// Number of entries.
    package var count: Int { table.count }

    /// Makes an empty one; a single entry is kept even where it costs more than `maxCost`.
    package init(maxCount: Int, maxCost: Int) {
        self.maxCount = max(1, min(maxCount, Int(Int32.max)))
        self.maxCost = maxCost
    }

    private func slot(of key: Key) -> Int32? {
        table.slot(hash: key.hashValue) { nodes[Int($0)].key == key }
    }

    /// Looks an entry up and marks it as used.
    package mutating func value(for key: Key) -> Value? {
        guard let slot = slot(of: key) else { return nil }
        if slot != newest {
            unlink(slot)
            linkAsNewest(slot)
        }
        return nodes[Int(slot)].value
    }

    /// Looks an entry up to change it, and marks it as used; `nil` where there is none.
    package mutating func withValue<Result>(for key: Key, _ change: (inout Value) -> Result) -> Result? {
        guard var value = value(for: key), newest != Self.none else { return nil }
        defer { nodes[Int(newest)].value = value }
        return change(&value)
    }

    /// Adds or replaces an entry, then drops others as long as there are too many.
    package mutating func insert(_ value: Value, for key: Key, cost: Int) {
        var dropped: [Key] = []
        insert(value, for: key, cost: cost, dropped: &dropped)
    }

    /// Adds or replaces an entry, then drops others as long as there are too many, and tells which.
    package mutating func insert(_ value: Value, for key: Key, cost entryCost: Int, dropped: inout [Key]) {
        remove(key)
        let node = Node(
            key: key, value: value, cost: Int32(clamping: entryCost), newer: Self.none, older: Self.none
        )
        let slot: Int32
        if let reused = free.popLast() {
            slot = reused
            nodes[Int(slot)] = node
        } else {
            slot = Int32(nodes.count)
            nodes.append(node)
        }
        table.insert(slot, hash: key.hashValue)
        cost += Int(node.cost)
        linkAsNewest(slot)
        while count > maxCount || cost > maxCost, oldest != slot {
            dropped.append(nodes[Int(oldest)].key)
            remove(nodes[Int(oldest)].key)
        }
    }

    /// Hands out all values, in no order.
    package func forEach(_ body: (Value) -> Void) {
        for node in nodes {
            if let value = node.value { body(value) }
        }
    }

    /// Drops an entry, if it is there.
    package mutating func remove(_ key: Key) {
        guard let slot = slot(of: key) else { return }
        table.remove(slot, hash: key.hashValue)
        unlink(slot)
        cost -= Int(nodes[Int(slot)].cost)
        nodes[Int(slot)].value = nil
        free.append(slot)
    }

    /// Drops everything.
    package mutating func removeAll() {
        self = LeastRecentlyUsed(maxCount: maxCount, maxCost: maxCost)
    }

    private mutating func linkAsNewest(_ slot: Int32) {
        nodes[Int(slot)].newer = Self.none
        nodes[Int(slot)].older = newest
        if newest != Self.none { nodes[Int(newest)].newer = slot }
        newest = slot
        if oldest == Self.none { oldest = slot }
    }

    private mutating func unlink(_ slot: Int32) {
        let (newer, older) = (nodes[Int(slot)].newer, nodes[Int(slot)].older)
        if newer == Self.none { newest = older } else { nodes[Int(newer)].older = older }
        if older == Self.none { oldest = newer } else { nodes[Int(older)].newer = newer }
    }
}
