/// By how much the clocks of a gateway and of the database may differ.
public enum ClockDifference {
    /// The most seconds that operators may allow: the clock of a gateway that serves is no further behind.
    public static let longest = 900

    /// ``longest`` in SQL.
    static let longestInterval = "interval '\(longest / 60) minutes'"
}
