import Bytes
import Testing

@Suite struct CivilDateTests {
    /// From 1600-01-01 on.
    @Test func `for 800 years, each day follows the one before`() throws {
        var (year, month, day) = (1600, 1, 1)
        var wrong: [Int] = []
        for number in -135_140..<157_054 {
            let date = CivilDate(dayNumber: number)
            if (date.year, date.month, date.day) != (year, month, day) || date.dayNumber != number
                || CivilDate(year: year, month: month, day: day) != date
            {
                wrong.append(number)
            }
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            let length = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
            if day == length, CivilDate(year: year, month: month, day: day + 1) != nil { wrong.append(number) }
            (month, day) = day < length ? (month, day + 1) : (month + 1, 1)
            if month > 12 { (year, month) = (year + 1, 1) }
        }
        #expect(wrong.isEmpty, "\(wrong.prefix(5))")
        #expect(year == 2400)
        let epoch = try #require(CivilDate(year: 1970, month: 1, day: 1))
        #expect(epoch.dayNumber == 0)
    }

    @Test(
        arguments: [
            (0, 1), (13, 1), (-1, 1), (Int.max, 1), (1, 0), (1, 32), (1, -1), (1, Int.max), (2, 30), (4, 31),
        ])
    func `there is no such day`(month: Int, day: Int) {
        #expect(CivilDate(year: 2000, month: month, day: day) == nil)
    }

    @Test func `before the year 0 as well`() {
        #expect(CivilDate(dayNumber: -719_469) == CivilDate(year: 0, month: 2, day: 29))
        #expect(CivilDate(dayNumber: -719_529) == CivilDate(year: -1, month: 12, day: 31))
    }
}
