/// Exit statuses of the commands that call a gateway.
public enum ExitStatus {
    /// The exit status of a command that was interrupted.
    public static let interrupted: Int32 = 130

    /// Returns the exit status for a request that was refused with a status of HTTP.
    public static func ofRefusal(_ status: Int) -> Int32 {
        switch status {
        case 401, 403: 3
        case 404: 4
        case 409, 412, 428: 5
        case 429, 500...: 6
        default: 2
        }
    }
}
