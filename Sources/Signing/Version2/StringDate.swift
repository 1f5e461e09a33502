import Bytes

/// The date line of a "version 2" string to sign.
public enum StringDate: Sendable, Hashable {
    /// A date: the signature is for a header.
    case date(SigningInstant)
    /// Seconds since 1970: the signature is for a URL.
    case expiry(SigningInstant)

    /// Reads a date line; `nil` if it is neither.
    ///
    /// - Parameter vendor: Alibaba OSS accepts dates in GMT only, the others in any time zone.
    public init?(_ line: String, vendor: StoreVendor) {
        let isNumber = line.consists(of: .digits, count: 9...10)
        if isNumber, let seconds = Int64(line), let instant = SigningInstant(epochSeconds: seconds) {
            self = .expiry(instant)
        } else if let date = vendor == .alibaba
            ? SigningInstant(httpDate: line) : SigningInstant(zonedDate: line)
        {
            self = .date(date)
        } else {
            return nil
        }
    }
}
