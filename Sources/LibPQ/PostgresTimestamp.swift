public import FoundationEssentials

/// A timestamptz, exact to the microsecond.
public struct PostgresTimestamp: Sendable, Hashable, Comparable {
    /// Microseconds since 1970-01-01T00:00:00Z; `Int64.max` and
    /// `Int64.min` are PostgreSQL's `infinity` and `-infinity`.
    public var microsecondsSince1970: Int64

    /// Microseconds from 1970 to 2000, where PostgreSQL counts from.
    private static let postgresEpoch: Int64 = 946_684_800_000_000

    /// Makes a timestamp of microseconds since 1970.
    public init(microsecondsSince1970: Int64) {
        self.microsecondsSince1970 = microsecondsSince1970
    }

    /// Rounds a date to the microsecond; a date too far off for 64 bits becomes infinite.
    public init(_ date: Date) {
        let microseconds = (date.timeIntervalSince1970 * 1_000_000).rounded()
        microsecondsSince1970 = Int64(exactly: microseconds) ?? (microseconds < 0 ? .min : .max)
    }

    /// The same instant as a date; an infinite timestamp is infinitely far.
    public var date: Date {
        switch microsecondsSince1970 {
        case .max: Date(timeIntervalSince1970: .infinity)
        case .min: Date(timeIntervalSince1970: -.infinity)
        default: Date(timeIntervalSince1970: Double(microsecondsSince1970) / 1_000_000)
        }
    }

    /// The earlier instant is less.
    public static func < (left: PostgresTimestamp, right: PostgresTimestamp) -> Bool {
        left.microsecondsSince1970 < right.microsecondsSince1970
    }
}

extension PostgresTimestamp: PostgresScalar {
    /// timestamptz.
    public static var postgresType: PostgresType { .timestamptz }
    /// timestamptz[].
    public static var arrayType: PostgresType { .timestamptzArray }

    /// Eight bytes.
    public func byteCount() -> Int { 8 }

    /// Writes microseconds since 2000.
    public func store(into bytes: UnsafeMutableRawBufferPointer) {
        guard microsecondsSince1970 != .max else { return unsafe bytes.storeBigEndian(Int64.max) }
        let (value, overflow) = microsecondsSince1970.subtractingReportingOverflow(Self.postgresEpoch)
        unsafe bytes.storeBigEndian(overflow ? Int64.min : value)
    }

    /// Reads microseconds since 2000.
    public static func read(_ payload: Span<UInt8>, type: PostgresType) -> PostgresTimestamp? {
        guard let value: Int64 = payload.bigEndian() else { return nil }
        guard value != .min else { return PostgresTimestamp(microsecondsSince1970: .min) }
        let (sum, overflow) = value.addingReportingOverflow(postgresEpoch)
        return PostgresTimestamp(microsecondsSince1970: overflow ? .max : sum)
    }
}

extension Date: PostgresScalar {
    /// timestamptz.
    public static var postgresType: PostgresType { .timestamptz }
    /// timestamptz[].
    public static var arrayType: PostgresType { .timestamptzArray }

    /// Eight bytes.
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
