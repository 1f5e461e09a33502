import TestSupport
import Testing

@testable import GatewayCore

@Suite struct LeastRecentlyUsedTests {
    @Test func `it agrees with a plain list over many random steps`() {
        var random = SeededGenerator(seed: 7)
        var cache = LeastRecentlyUsed<Int, Int>(maxCount: 8, maxCost: 40)
        var model: [(key: Int, value: Int, cost: Int)] = []
        for step in 0..<20_000 {
            let key = Int.random(in: 0..<14, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let index = model.firstIndex { $0.key == key }
                #expect(cache.value(for: key) == index.map { model[$0].value })
                if let index { model.append(model.remove(at: index)) }
            case 5:
                if let first = model.first, first.value % 2 == 0 { model.removeFirst() }
                cache.removeOldest { $0 % 2 == 0 }
            case 6..<9:
                let cost = Int.random(in: 0..<12, using: &random)
                model.removeAll { $0.key == key }
                model.append((key, step, cost))
                while model.count > 8 || model.reduce(0, { $0 + $1.cost }) > 40 { model.removeFirst() }
                cache.insert(step, for: key, cost: cost)
            default:
                model.removeAll { $0.key == key }
                cache.remove(key)
            }
            #expect(cache.count == model.count)
            #expect(cache.cost == model.reduce(0) { $0 + $1.cost })
        }
    }
}

@Suite struct TokenBucketsTests {
    /// Callers that come and go, some of them owing for batches, take as from buckets that nobody forgets.
    @Test func `what was forgotten was full`() throws {
        var random = SeededGenerator(seed: 5)
        let buckets = TokenBuckets(maxPrincipals: 1 << 20)
        let principals = try (0..<400).map { try Principal("user:\($0)") }
        var fullAt: [Principal: Int64] = [:]
        var now: Int64 = 0
        var refusals = 0
        for _ in 0..<50_000 {
            now += Int64.random(in: 0..<12, using: &random)
            guard let principal = principals.randomElement(using: &random) else { continue }
            let cost: Int64 = Bool.random(using: &random) ? 100 : 4_000
            let known = max(fullAt[principal] ?? 0, now)
            let isTaken = known + 100 <= now + 1_000
            #expect(buckets.take(cost, needed: 100, of: 1_000, from: principal, at: now) == known)
            if isTaken { fullAt[principal] = known + cost } else { refusals += 1 }
        }
        #expect(refusals > 1_000)
    }
}

@Suite struct SlotTableTests {
    /// Hashes whose lower bits are all ones belong at the end of the table, where collisions continue at the beginning.
    @Test(arguments: [[-1], [-1, -2, 0, 1], Array(-40..<40)])
    func `slots are found by their hashes, however these collide`(hashes: [Int]) throws {
        var random = SeededGenerator(seed: 11)
        var table = SlotTable()
        var model: [Int32: Int] = [:]
        for step in 0..<3000 {
            let slot = Int32.random(in: 0..<60, using: &random)
            if let hash = model[slot] {
                table.remove(slot, hash: hash)
                model[slot] = nil
            } else if step % 500 < 400 {
                let hash = try #require(hashes.randomElement(using: &random))
                table.insert(slot, hash: hash)
                model[slot] = hash
            }
            #expect(table.count == model.count)
            for (slot, hash) in model { #expect(table.slot(hash: hash) { $0 == slot } == slot) }
            #expect(table.slot(hash: hashes[0]) { model[$0] == nil } == nil)
        }
    }
}
