import TestSupport
import Testing

/// What tests need of the machine besides the program: other programs, and rights.
enum Surroundings {
    /// Whether a test fails where something is missing, as in `script/test`. Otherwise it is skipped.
    static let areRequired = StoreKind.areRequired

    /// Cancels the test where something is missing, or fails it where everything is required.
    ///
    /// - Parameter flaw: What is missing.
    static func require(_ isThere: Bool, orElse flaw: String) throws {
        guard !isThere else { return }
        try #require(!areRequired, "\(flaw)")
        try Test.cancel("\(flaw); CONTRIBUTING.md says what to install")
    }
}
