import Synchronization
import TestSupport
import Testing

/// What a suite shares lives from its first case to the end of the suite.
@Suite struct SharedTraitTests {
    @TaskLocal fileprivate static var place: SharedTrait<Int>.Shared?

    /// How often a value was made and ended.
    private final class Counts: Sendable {
        let made = Atomic(0)
        let ended = Atomic(0)

        var both: [Int] { [made.load(ordering: .relaxed), ended.load(ordering: .relaxed)] }
    }

    private static func trait(_ counts: Counts) -> SharedTrait<Int> {
        SharedTrait<Int>(place: $place) {
            counts.made.add(1, ordering: .relaxed).newValue
        } end: { _ in
            counts.ended.add(1, ordering: .relaxed)
        }
    }

    @Test func `the cases of a suite and of a suite in it share one value`() async throws {
        let counts = Counts()
        let trait = Self.trait(counts)
        let test = try #require(Test.current)
        let testCase = try #require(Test.Case.current)
        try await trait.provideScope(for: test, testCase: nil) {
            #expect(counts.both == [0, 0] && Self.place?.value == nil)
            for _ in 0..<2 {
                try await trait.provideScope(for: test, testCase: testCase) { #expect(Self.place?.value == 1) }
            }
            try await trait.provideScope(for: test, testCase: nil) {
                try await trait.provideScope(for: test, testCase: testCase) { #expect(Self.place?.value == 1) }
            }
            #expect(counts.both == [1, 0])
        }
        #expect(counts.both == [1, 1])
    }

    @Test func `a suite without cases makes nothing`() async throws {
        let counts = Counts()
        try await Self.trait(counts).provideScope(for: try #require(Test.current), testCase: nil) {}
        #expect(counts.both == [0, 0])
    }

    @Test func `a value that cannot be made fails each case`() async throws {
        let counts = Counts()
        let trait = SharedTrait<Int>(place: Self.$place) {
            counts.made.add(1, ordering: .relaxed)
            throw WaitedTooLong(description: "no value")
        } end: { _ in
            counts.ended.add(1, ordering: .relaxed)
        }
        let test = try #require(Test.current)
        let testCase = try #require(Test.Case.current)
        try await trait.provideScope(for: test, testCase: nil) {
            for _ in 0..<2 {
                await #expect(throws: WaitedTooLong.self) {
                    try await trait.provideScope(for: test, testCase: testCase) { Issue.record("a case without it") }
                }
            }
        }
        #expect(counts.both == [1, 0])
    }
}
