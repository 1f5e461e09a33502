import PostgresTesting
import Testing

/// Gives the cases of a suite a value that they share. The first case makes it, and it ends with the suite.
///
/// All suites begin at once, and only cases wait for their turn. A value that the suite made at its beginning would be
/// idle until then.
struct SharedTrait<Value: Sendable>: SuiteTrait, TestTrait, TestScoping {
    /// The value of a suite.
    struct Shared: Sendable {
        let once = Once<Value>()
        /// The value in a case; `nil` outside of cases.
        var value: Value?
    }

    /// Where the running suite and its cases have it.
    let place: TaskLocal<Shared?>
    let make: @Sendable () async throws -> Value
    let end: @Sendable (Value) async throws -> Void

    /// The tests need the trait as well.
    var isRecursive: Bool { true }

    func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? {
        test.isSuite || testCase != nil ? self : nil
    }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        if var shared = place.get() {
            // A nested suite only passes on what it shares.
            if testCase != nil { shared.value = try await shared.once.value(make) }
            return try await place.withValue(shared) { try await function() }
        }
        let shared = Shared()
        let result: Result<Void, any Error>
        do {
            result = .success(try await place.withValue(shared) { try await function() })
        } catch {
            result = .failure(error)
        }
        if let value = await shared.once.made { try await end(value) }
        try result.get()
    }
}
