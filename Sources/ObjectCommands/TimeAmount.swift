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
