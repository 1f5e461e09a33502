/// A date of the proleptic Gregorian calendar.
///
/// In its arithmetic a year begins on 1 March, so that the leap day is its last day, and an era has 400 years.
public struct CivilDate: Sendable, Hashable {
    /// The year; 0 is the one before 1.
    public let year: Int
    /// The month, 1 to 12.
    public let month: Int
    /// The day of the month, 1 to 31.
    public let day: Int

    /// Takes a number of days since 1970-01-01, negative for dates before.
    @inlinable
    public init(dayNumber: Int) {
        let days = dayNumber + Self.daysFromYearZeroTo1970
        let era = Self.floor(days, dividedBy: Self.daysPerEra)
        let dayOfEra = days - era * Self.daysPerEra
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = era * 400 + yearOfEra + (monthFromMarch < 10 ? 0 : 1)
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    }

    /// Takes year, month and day; `nil` where the year has no such day.
    @inlinable
    public init?(year: Int, month: Int, day: Int) {
        guard 1...12 ~= month, 1...31 ~= day else { return nil }
        self.year = year
        self.month = month
        self.day = day
        guard CivilDate(dayNumber: dayNumber) == self else { return nil }
    }

    /// Days since 1970-01-01, negative for dates before.
    @inlinable
    public var dayNumber: Int {
        let yearFromMarch = month > 2 ? year : year - 1
        let era = Self.floor(yearFromMarch, dividedBy: 400)
        let yearOfEra = yearFromMarch - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * Self.daysPerEra + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - Self.daysFromYearZeroTo1970
    }

    @inlinable static var daysPerEra: Int { 146_097 }
    @inlinable static var daysFromYearZeroTo1970: Int { 719_468 }

    @inlinable
    static func floor(_ value: Int, dividedBy divisor: Int) -> Int {
        (value - (value < 0 ? divisor - 1 : 0)) / divisor
    }
}
