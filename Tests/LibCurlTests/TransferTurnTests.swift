import Testing

@testable import LibCurl

@Suite struct TransferTurnTests {
    private static func origin(_ number: Int) -> HTTPTransfer.Origin {
        HTTPTransfer.Origin(isSecure: true, host: "store-\(number).example", port: 443)
    }

    private static func turns(atOnce: Int, perOrigin: Int = .max, waiting: Int = 1000) -> TransferTurns {
        TransferTurns(.init(atOnce: atOnce, perOrigin: perOrigin, waiting: waiting, lookUps: 1))
    }

    /// Lets `count` transfers join the queue of an origin; returns how many found room.
    private static func join(_ turns: inout TransferTurns, _ count: Int, origin number: Int) -> Int {
        (0..<count).filter { turns.join(UInt64(number * 10_000 + $0), for: origin(number)) }.count
    }

    /// Starts every transfer whose turn has come; returns the number for each origin.
    private static func start(_ turns: inout TransferTurns) -> [Int: Int] {
        var started: [Int: Int] = [:]
        while let ticket = turns.next() { started[Int(ticket / 10_000), default: 0] += 1 }
        return started
    }

    @Test(arguments: [1: 50, 2: 33, 3: 25, 9: 10])
    func `origins that hang leave as much free as each of them holds`(hanging: Int, each: Int) {
        var turns = Self.turns(atOnce: 100)
        for number in 1...hanging { _ = Self.join(&turns, 100, origin: number) }
        let started = Self.start(&turns)
        #expect(started.values.allSatisfy { each - 1...each + 1 ~= $0 }, "\(started)")
        #expect(100 - started.values.reduce(0, +) >= each - 1)
        #expect(Self.join(&turns, 1, origin: 0) == 1)
        #expect(Self.start(&turns) == [0: 1])
    }

    @Test(arguments: [(1, 1), (3, 3), (4, 4), (5, 4), (100, 4)])
    func `no origin has more than its own limit`(joining: Int, started: Int) {
        var turns = Self.turns(atOnce: 100, perOrigin: 4)
        #expect(Self.join(&turns, joining, origin: 1) == joining)
        #expect(Self.start(&turns) == [1: started])
        turns.end(for: Self.origin(1))
        #expect(Self.start(&turns) == (joining > started ? [1: 1] : [:]))
    }

    @Test func `origins take turns, and within one the first comes first`() {
        var turns = Self.turns(atOnce: 100)
        for ticket: UInt64 in 1...3 { _ = turns.join(ticket, for: Self.origin(1)) }
        for ticket: UInt64 in 11...12 { _ = turns.join(ticket, for: Self.origin(2)) }
        #expect((0..<6).map { _ in turns.next() } == [1, 11, 2, 12, 3, nil])
    }

    @Test func `who has left has no turn`() {
        var turns = Self.turns(atOnce: 100)
        for ticket: UInt64 in 1...3 { _ = turns.join(ticket, for: Self.origin(1)) }
        turns.leave(1, for: Self.origin(1))
        turns.leave(3, for: Self.origin(1))
        turns.leave(99, for: Self.origin(1))
        #expect((0..<2).map { _ in turns.next() } == [2, nil])
    }

    @Test func `those who wait for one origin leave room for those who wait for others`() {
        var turns = Self.turns(atOnce: 1, waiting: 100)
        #expect(Self.join(&turns, 100, origin: 1) == 50)
        #expect(Self.join(&turns, 100, origin: 2) == 25)
        turns.leave(10_000, for: Self.origin(1))
        #expect(Self.join(&turns, 100, origin: 3) == 13)
    }

    @Test func `a name is looked up once for all who wait, and no more names than allowed`() {
        var names = NameQueue(limit: 2)
        for (ticket, name) in ["a", "a", "b", "c", "d"].enumerated() { names.join(UInt64(ticket), for: name) }
        #expect((0..<3).map { _ in names.begin() } == ["a", "b", nil])
        // A look-up that hangs still counts when nobody waits for it any longer, and later callers join it.
        names.leave(0, for: "a")
        names.leave(1, for: "a")
        names.leave(3, for: "c")
        names.join(7, for: "a")
        #expect(names.begin() == nil)
        #expect(names.end("b") == [2])
        #expect((0..<2).map { _ in names.begin() } == ["d", nil])
        #expect(names.end("a") == [7])
        #expect(names.end("d") == [4])
        #expect(names.begin() == nil)
    }
}
