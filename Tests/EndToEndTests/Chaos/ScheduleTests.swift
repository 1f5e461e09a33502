import Testing

/// Schedules: the same seed repeats the same schedule.
@Suite struct ScheduleTests {
    @Test func `a seed draws the same schedule again, and another seed another`() {
        func draw(_ seed: UInt64) -> Schedule { Schedule(seed: seed, seconds: 20, kinds: Schedule.Kind.allCases) }
        #expect(draw(7).faults == draw(7).faults && draw(7).steps == draw(7).steps)
        #expect(draw(7).faults != draw(8).faults && draw(7).steps != draw(8).steps)
    }

    @Test func `every kind of fault comes, in order and in time, and none where none is wanted`() {
        let schedule = Schedule(seed: 1, seconds: 20, kinds: Schedule.Kind.allCases)
        let times = schedule.faults.map(\.at)
        #expect(times == times.sorted() && times.allSatisfy { 0..<20 ~= $0 })
        let kinds = schedule.faults.map { fault -> Schedule.Kind in
            switch fault.event {
            case .kill: .kill
            case .stop: .stop
            case .endSessions: .sessions
            case .cancelStatements: .statements
            case .killDatabase: .database
            }
        }
        #expect(Set(kinds) == Set(Schedule.Kind.allCases))
        #expect(Schedule(seed: 1, seconds: 20, kinds: []).faults.isEmpty)
    }
}
