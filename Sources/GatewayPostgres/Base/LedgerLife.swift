import FoundationEssentials
import GatewayCore

/// When rows of the ledger are recorded and how long they live, for statements that need not read other days.
enum LedgerLife {
    /// ``LedgerRange/longestLife`` in SQL.
    static let longest = "interval '\(Int(LedgerRange.longestLife / LedgerRange.day)) days'"

    /// Maximum distance between the instant in an issuance's identifier and its recording; others are not found. A
    /// request may be repeated for a day.
    private static let clockDifference: TimeInterval = 2 * 86_400

    /// The year 2500. No row has a later time.
    private static let lastInstant = Date(timeIntervalSince1970: 16_725_225_600)

    /// The period in which the issuance with an identifier was recorded; `nil` for one that no issuance has.
    ///
    /// Without it, every day of the ledger would be opened, which takes a lock for each day and each of its indexes.
    /// Planning for these two values leaves the other days alone, so the session must not use a plan for any values
    /// (`plan_cache_mode = force_custom_plan`).
    static func recording(of id: UUID) -> Range<Date>? {
        let instant = id.version7Instant
        guard instant < lastInstant else { return nil }
        return instant.addingTimeInterval(-clockDifference)..<instant.addingTimeInterval(clockDifference)
    }
}
