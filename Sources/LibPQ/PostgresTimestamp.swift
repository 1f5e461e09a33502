public import FoundationEssentials

/// A timestamptz with microsecond precision.
public struct PostgresTimestamp: Sendable, Hashable, Comparable {
    /// Microseconds since 1970-01-01T00:00:00Z. `Int64.max` and `Int64.min` are PostgreSQL's `infinity` and
    /// `-infinity`.
    public var microsecondsSince1970: Int64

    /// Microseconds from 1970 to 2000, which is PostgreSQL's epoch.
    private static let postgresEpoch: Int64 = 946_684_800_000_000

    /// Creates a timestamp from microseconds since 1970.
    public init(microsecondsSince1970: Int64) {
        self.microsecondsSince1970 = microsecondsSince1970
    }

    /// Rounds a date to the microsecond. A date beyond the range of 64 bits becomes infinite.
    public init(_ date: Date) {
        let microseconds = (date.timeIntervalSince1970 * 1_000_000).rounded()
        microsecondsSince1970 = Int64(exactly: microseconds) ?? (microseconds < 0 ? .min : .max)
    }

    /// The same instant as a date. An infinite timestamp becomes an infinite date.
    public var date: Date {
        switch microsecondsSince1970 {
        case .max: Date(timeIntervalSince1970: .infinity)
        case .min: Date(timeIntervalSince1970: -.infinity)
        default: Date(timeIntervalSince1970: Double(microsecondsSince1970) / 1_000_000)
        }
    }

    /// Whether the left instant is earlier.
    public static func < (left: PostgresTimestamp, right: PostgresTimestamp) -> Bool {
        left.microsecondsSince1970 < right.microsecondsSince1970
    }
}

extension PostgresTimestamp: PostgresScalar {
    /// The type timestamptz.
    public static var postgresType: PostgresType { .timestamptz }
    /// The type timestamptz[].
    public static var arrayType: PostgresType { .timestamptzArray }

    /// Returns 8.
    public func byteCount() -> Int { 8 }

    /// Writes the microseconds since 2000.
    public func store(into bytes: UnsafeMutableRawBufferPointer) {
        guard microsecondsSince1970 != .max else { return unsafe bytes.storeBigEndian(Int64.max) }
        let (value, overflow) = microsecondsSince1970.subtractingReportingOverflow(Self.postgresEpoch)
        unsafe bytes.storeBigEndian(overflow ? Int64.min : value)
    }

    /// Reads the microseconds since 2000.
    public static func read(_ payload: Span<UInt8>, type: PostgresType) -> PostgresTimestamp? {
        guard let value: Int64 = payload.bigEndian() else { return nil }
        guard value != .min else { return PostgresTimestamp(microsecondsSince1970: .min) }
        let (sum, overflow) = value.addingReportingOverflow(postgresEpoch)
        return PostgresTimestamp(microsecondsSince1970: overflow ? .max : sum)
    }
}

extension Date: PostgresScalar {
    /// The type timestamptz.
    public static var postgresType: PostgresType { .timestamptz }
    /// The type timestamptz[].
    public static var arrayType: PostgresType { .timestamptzArray }

    /// Returns 8, and throws if the date is not a number.
    public func byteCount() throws(PostgresValueError) -> Int {
        guard !timeIntervalSince1970.isNaN else { throw PostgresValueError("date that is not a number") }
        return 8
    }

    /// Writes the instant, rounded to the microsecond.
    public func store(into bytes: UnsafeMutableRawBufferPointer) {
        unsafe PostgresTimestamp(self).store(into: bytes)
    }

    /// Reads the instant.
    public static func read(_ payload: Span<UInt8>, type: PostgresType) -> Date? {
        PostgresTimestamp.read(payload, type: type)?.date
    }
}
