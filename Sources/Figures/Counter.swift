import Synchronization

/// A number that only grows. An increment is one atomic addition, so it may stand on the path of every request.
public final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    /// Makes a counter at 0.
    public init() {}

    /// The present number.
    public var value: Int { count.load(ordering: .relaxed) }

    /// Adds a number that is not negative.
    public func add(_ amount: Int = 1) {
        count.wrappingAdd(amount, ordering: .relaxed)
    }
}

/// A number of things that come and go, such as requests that are being answered.
public final class Level: Sendable {
    private let count = Atomic<Int>(0)

    /// Makes a level at 0.
    public init() {}

    /// The present number.
    public var value: Int { count.load(ordering: .relaxed) }

    /// Counts one more.
    public func rise() {
        count.wrappingAdd(1, ordering: .relaxed)
    }

    /// Counts one fewer.
    public func fall() {
        count.wrappingSubtract(1, ordering: .relaxed)
    }
}

/// A counter for each case of an enumeration. All of them exist from the start.
public final class Counters<Case: CaseIterable & Hashable & Sendable>: Sendable {
    /// The cases with their counters, in the order of the enumeration.
    public let all: [(of: Case, counter: Counter)]

    /// Makes all counters at 0.
    public init() {
        all = Case.allCases.map { ($0, Counter()) }
    }

    /// The counter of a case.
    public subscript(_ wanted: Case) -> Counter {
        // Enumerations have few cases: comparing them costs less than hashing.
        for (own, counter) in all where own == wanted { return counter }
        preconditionFailure("allCases lists every case.")
    }
}
