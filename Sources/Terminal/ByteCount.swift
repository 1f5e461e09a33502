/// Numbers of bytes, for people.
public enum ByteCount {
    /// Reads `8388608`, `8M` or `8MiB`.
    public static func number(_ text: String) -> Int64? {
        guard let match = text.wholeMatch(of: /([0-9]{1,15})\s*([KMG]?)(iB|B)?/.ignoresCase()),
            let number = Int64(match.1)
        else { return nil }
        let factor: Int64 =
            switch match.2.uppercased() {
            case "K": 1 << 10
            case "M": 1 << 20
            case "G": 1 << 30
            default: 1
            }
        let (product, isTooLarge) = number.multipliedReportingOverflow(by: factor)
        return isTooLarge ? nil : product
    }

    /// Writes `8.0 MiB`.
    public static func text(_ bytes: Int64) -> String {
        let units = ["KiB", "MiB", "GiB", "TiB"]
        guard bytes >= 1024 else { return "\(bytes) B" }
        var value = Double(bytes) / 1024
        var unit = 0
        while value >= 1024, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        let tenths = Int((value * 10).rounded(.down))
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
}
