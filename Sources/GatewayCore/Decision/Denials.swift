import FoundationEssentials

/// The grants that deny something.
struct Denials {
    /// One that applies to whatever is issued now.
    private(set) var applying: Grant?
    /// The beginning of the first one that applies later.
    private(set) var start: Date?

    /// Takes a grant that denies. What is issued lives for a second at least, counted from the second of the
    /// decision, so a grant that begins before the next second applies.
    mutating func add(_ grant: Grant, _ circumstances: Circumstances) {
        guard grant.notAfter.map({ circumstances.now < $0 }) ?? true else { return }
        if let begins = grant.notBefore, circumstances.secondsLeft(until: begins) >= 1 {
            start = earlier(start, begins)
        } else {
            applying = applying ?? grant
        }
    }
}

/// Returns the earlier of two instants, of which either may be missing.
func earlier(_ one: Date?, _ other: Date?) -> Date? {
    guard let one, let other else { return one ?? other }
    return min(one, other)
}
