import Testing

@testable import MicroHTTPD

@Suite(.timeLimit(.minutes(2))) struct DrainPeriodTests {
    /// A gateway's listeners stop one after another.
    @Test func `servers that share a period finish at the same time`() {
        let shared = DrainPeriod(.seconds(100))
        let end = shared.begin()
        #expect(shared.begin() == end)
        #expect(end > .now + .seconds(90))
    }

    @Test func `a server that comes when the period is over has a second at most`() {
        let over = DrainPeriod(.zero)
        #expect(over.begin() <= .now)
        let short = DrainPeriod(.milliseconds(1))
        let first = short.begin()
        let second = short.begin()
        #expect(second >= first && second <= .now + .milliseconds(1))
    }
}
