import Foundation

/// Numbers of bytes on the command line.
enum ByteCount {
    /// Reads `8388608`, `8M` or `8MiB`.
    static func number(_ text: String) -> Int64? {
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
    static func text(_ bytes: Int64) -> String {
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

/// Times on the command line.
enum TimeAmount {
    /// Reads `90`, `90s`, `15m`, `1h` or `7d` as seconds.
    static func seconds(_ text: String) -> Int? {
        guard let match = text.wholeMatch(of: /([0-9]{1,8})([smhd]?)/), let number = Int(match.1), number > 0 else {
            return nil
        }
        switch match.2 {
        case "m": return number * 60
        case "h": return number * 3600
        case "d": return number * 86_400
        default: return number
        }
    }
}
