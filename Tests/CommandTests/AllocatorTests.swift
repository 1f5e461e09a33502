import Foundation
import Testing

@Suite("the allocator of the program", .timeLimit(.minutes(1)))
struct AllocatorTests {
    @Test func `no library of the program allocates with the C library`() throws {
        // The dynamic linker tells which library each symbol is taken from.
        let result = try Command.run(["--version"], environment: ["LD_DEBUG": "bindings", "LD_BIND_NOW": "1"])
        let bindings = result.errors.split(separator: "\n").filter { $0.contains("symbol `malloc'") }
        #expect(result.status == 0)
        #expect(!bindings.isEmpty)
        #expect(bindings.filter { $0.contains(#/ to \S*libc\.so/#) } == [])
    }
}
