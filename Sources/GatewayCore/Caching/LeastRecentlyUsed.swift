/// A dictionary with a limit on number and total cost of its entries. It drops the least recently used entries first.
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

    /// Index from keys to positions in `nodes`.
    private var table = SlotTable()
    private var nodes: [Node] = []
    private var free: [Int32] = []
    private var newest = none
    private var oldest = none
    private let maxCount: Int
    private let maxCost: Int

    /// Total cost of all entries.
    package private(set) var cost = 0

    /// Number of entries.
    package var count: Int { table.count }

    /// Creates an empty dictionary.
    ///
    /// - Parameters:
    ///   - maxCount: Largest number of entries.
    ///   - maxCost: Largest total cost. A single entry is kept even if it costs more.
    package init(maxCount: Int, maxCost: Int) {
        self.maxCount = max(1, min(maxCount, Int(Int32.max)))
        self.maxCost = maxCost
    }

    private func slot(of key: Key) -> Int32? {
        table.slot(hash: key.hashValue) { nodes[Int($0)].key == key }
    }

    /// Returns the value of an entry and marks the entry as used; `nil` if there is none.
    package mutating func value(for key: Key) -> Value? {
        guard let slot = slot(of: key) else { return nil }
        if slot != newest {
            unlink(slot)
            linkAsNewest(slot)
        }
        return nodes[Int(slot)].value
    }

    /// Changes the value of an entry in place and marks the entry as used; returns `nil` if there is none.
    package mutating func withValue<Result>(for key: Key, _ change: (inout Value) -> Result) -> Result? {
        guard var value = value(for: key), newest != Self.none else { return nil }
        defer { nodes[Int(newest)].value = value }
        return change(&value)
    }

    /// Adds or replaces an entry, then drops others while a limit is exceeded.
    package mutating func insert(_ value: Value, for key: Key, cost: Int) {
        var dropped: [Key] = []
        insert(value, for: key, cost: cost, dropped: &dropped)
    }

    /// Adds or replaces an entry, then drops others while a limit is exceeded, and appends their keys to `dropped`.
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
            makeRoom()
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

    /// Grows by a quarter: of 100,000 callers' rows, the free half of an array that doubles would be 3 MB.
    private mutating func makeRoom() {
        if nodes.count == nodes.capacity { nodes.reserveCapacity(nodes.count + nodes.count / 4 + 16) }
    }

    /// Removes the entry that was used longest ago, if it is no longer of use.
    mutating func removeOldest(where isUseless: (Value) -> Bool) {
        guard oldest != Self.none, let value = nodes[Int(oldest)].value, isUseless(value) else { return }
        remove(nodes[Int(oldest)].key)
    }

    /// Calls a function with each value, in no particular order.
    package func forEach(_ body: (Value) -> Void) {
        for node in nodes {
            if let value = node.value { body(value) }
        }
    }

    /// Removes an entry if it exists.
    package mutating func remove(_ key: Key) {
        guard let slot = slot(of: key) else { return }
        table.remove(slot, hash: key.hashValue)
        unlink(slot)
        cost -= Int(nodes[Int(slot)].cost)
        nodes[Int(slot)].value = nil
        free.append(slot)
    }

    /// Removes all entries.
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
