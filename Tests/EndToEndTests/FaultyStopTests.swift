import Figures
import Foundation
import HTTPTesting
import PostgresTesting
import TestSupport
import Testing

/// SIGTERM while recordings wait or fail: whoever asked before is answered, in every way of asking.
@Suite(.timeLimit(.minutes(5))) struct FaultyStopTests {
    /// Faults that hold up for seconds what a gateway records.
    private static let faults = [Fault.ledgerLocked, .standbyDown, .suspended]

    @Test(arguments: faults)
    func `a stop while the database has a fault leaves no request without an answer`(fault: Fault) async throws {
        let cluster = try await TestCluster(ClusterOptions())
        try await Deployment.with(cluster: cluster, settings: AskingGround.settings) { site in
            let ground = try await site.makeAskingGround()
            let asker = try await site.makeAsker("alice", at: ground).asker
            let requests = try ground.ways.map { try $0.request(for: "k", by: asker) }
            let gateway = site.gateways[0]
            let port = gateway.port
            let tally = Tally()
            let answers = Counter()
            // What is asked again can be decided from memory.
            try await onThreads(requests.count) { index in
                var connection = KeptConnection()
                tally.note(try connection.exchange(requests[index], port: port), expected: [201])
            }
            try await fault.begin(site)
            try await withThrowingTaskGroup(of: Void.self) { group in
                let clients = requests.count * 4
                group.addTask {
                    try await onThreads(clients) { index in
                        var request = requests[index % requests.count]
                        if index < clients / 2 {
                            request.headers.append((name: "Idempotency-Key", value: "\(index)"))
                        }
                        var connection = KeptConnection()
                        let answer = try connection.exchange(request, port: port)
                        tally.note(answer, expected: [201, 503])
                        answers.add()
                    }
                }
                try await waitUntil("all requests have arrived") {
                    // Read first, so that none is counted as answered and as under way.
                    let answered = answers.value
                    return try await MetricsReading(of: gateway).requestsUnderWay + answered >= clients
                }
                #expect(answers.value < clients, "nothing is under way")
                gateway.process.signal(15)
                try await group.waitForAll()
            }
            await site.end(gateway) { #expect(await gateway.process.exitStatus() == 0) }
            try await fault.end(site)
            #expect(tally.wrong.isEmpty && tally.count(of: 503) > 0)
            #expect(Set(tally.issued).subtracting(try await site.recordedNames()).isEmpty)
        }
        try await cluster.stop()
    }
}
