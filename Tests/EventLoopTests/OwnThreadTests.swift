import EventLoops
import Figures
import Testing

@Suite(.timeLimit(.minutes(1)))
struct OwnThreadTests {
    @Test func `work is done again and again until the task is cancelled`() async {
        let counter = Counter()
        await withTaskGroup { tasks in
            tasks.addTask { await onThread(every: .milliseconds(1)) { counter.add() } }
            while counter.value < 5 { await Task.yield() }
            tasks.cancelAll()
        }
    }

    @Test(arguments: [true, false])
    func `a long interval keeps nobody who ends it waiting`(isEarly: Bool) async {
        let counter = Counter()
        await withTaskGroup { tasks in
            tasks.addTask { await onThread(every: .seconds(3600)) { counter.add() } }
            while !isEarly, counter.value == 0 { await Task.yield() }
            tasks.cancelAll()
        }
        #expect(counter.value == 1)
    }
}
