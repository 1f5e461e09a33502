public import FoundationEssentials

/// How long an upload may go on after its URL is dead. Stores check a URL only when a request begins.
///
/// Confirmations and the settling of reserved bytes use the same figures. In SQL, the view `uploads` has the first for
/// events, and `settle_reservations` the second.
public enum UploadOverrun {
    /// Seconds that every upload is given.
    public static let slack: TimeInterval = 900
    /// Bytes per second of the slowest upload that is waited for beyond that.
    public static let leastRate = 65_536.0
}
