import Foundation
import SluiceClient
import Testing

extension RunningTests {
    private var object: Sluice.ObjectRequest { .init(bucket: world.bucket, key: "\(world.folder)x") }

    @Test("an error has the code, status, detail and request of the problem")
    func errors() async throws {
        let denied = await refusal {
            try await world.client().downloadURL(for: .init(bucket: world.bucket, key: "elsewhere/x"))
        }
        #expect(denied?.source == .gateway)
        #expect(denied?.code == .accessDenied)
        #expect(denied?.status == 403)
        #expect(denied?.title == "Access denied")
        #expect(denied?.requestID?.count ?? 0 > 30)
        #expect(denied?.mayPass == false)
        let wrong = await refusal { try await world.client().downloadURL(for: .init(bucket: world.bucket, key: "/x")) }
        #expect(wrong?.code == .invalidArgument)
        #expect(wrong?.field == "key")
        #expect(wrong?.localizedDescription == wrong?.detail)
        let stranger = Sluice(url: world.gateway, token: "nobody")
        let unknown = await refusal { try await stranger.downloadURL(for: object) }
        #expect(unknown?.code == .unauthenticated)
        let busy = Fault(kind: "answer", status: 503, body: "busy")
        try await plan(world.gateway, busy, busy, busy)
        let last = await refusal { try await world.client { $0.retries = 2 }.downloadURL(for: object) }
        #expect(last?.code == .unknown("HTTP503"))
        #expect(last?.mayPass == true)
        try await expectAllHappened(world.gateway)
    }

    @Test("a token that is refused is asked for again, once")
    func token() async throws {
        let asked = Asked()
        let client = Sluice(url: world.gateway) { [token = world.token] isRefresh in
            await asked.note(isRefresh)
            return isRefresh ? token : "expired"
        }
        _ = try await client.downloadURL(for: object)
        let questions = await asked.all
        #expect(questions == [false, true])
        let never = Asked()
        let stranger = Sluice(url: world.gateway) { isRefresh in
            await never.note(isRefresh)
            return "expired"
        }
        let error = await refusal { try await stranger.downloadURL(for: object) }
        #expect(error?.status == 401)
        let others = await never.all
        #expect(others == [false, true])
        // A later repetition needs no other token.
        let once = Asked()
        let refreshed = Sluice(url: world.gateway) { [token = world.token] isRefresh in
            let isFirst = await once.all.isEmpty
            await once.note(isRefresh)
            return isFirst ? "expired" : token
        }
        try await plan(world.gateway, Fault(kind: "answer", skip: 1, status: 503))
        _ = try await refreshed.downloadURL(for: object)
        try await expectAllHappened(world.gateway)
        let repeated = await once.all
        #expect(repeated == [false, true, false])
    }

    @Test("requests are repeated, not before Retry-After, and not after an hour")
    func retryAfter() async throws {
        try await plan(world.gateway, Fault(kind: "answer", status: 503, retryAfter: 2), Fault(kind: "lose"))
        let start = ContinuousClock.now
        _ = try await world.client().downloadURL(for: object)
        #expect(ContinuousClock.now - start >= .seconds(2))
        try await expectAllHappened(world.gateway)
        try await plan(world.gateway, Fault(kind: "answer", status: 503, retryAfter: 3600))
        let error = await refusal { try await world.client().downloadURL(for: object) }
        #expect(error?.retryAfter == .seconds(3600))
        #expect(ContinuousClock.now - start < .seconds(60))
    }

    @Test("an upload in parts is started, listed and aborted by hand, although an answer was lost")
    func byHand() async throws {
        try await plan(world.gateway, Fault(kind: "lose", method: "POST", path: "/v1/multipart-uploads"))
        let client = world.client()
        let target = Sluice.Target(bucket: world.bucket, key: "\(world.folder)by-hand")
        let upload = try await client.startParts(target, contentLength: 10)
        try await expectAllHappened(world.gateway)
        #expect(upload.state == "open")
        let parts = try await client.storedParts(upload.id)
        #expect(parts == [])
        try await client.abortParts(upload.id)
        try await client.abortParts(upload.id)
        let found = try await client.partsUpload(upload.id)
        #expect(found.state == "aborted")
    }

    @Test("a request whose answer is gone is sent once more, with another key")
    func answerGone() async throws {
        let client = world.client()
        let target = Sluice.Target(bucket: world.bucket, key: "\(world.folder)gone")
        let body = #"{"type": "/problems/idempotent-answer-gone", "status": 409, "code": "IdempotentAnswerGone"}"#
        let path = "/v1/multipart-uploads"
        // The gateway starts an upload, which it would tell again if it got the same key.
        try await plan(
            world.gateway, Fault(kind: "hide", method: "POST", path: path, status: 409, body: body),
            Fault(kind: "delay", method: "POST", path: path, seconds: 2))
        let before = Date()
        let upload = try await client.startParts(target)
        #expect(upload.createdAt.timeIntervalSince(before) > 1)
        try await expectAllHappened(world.gateway)
        try await client.abortParts(upload.id)
        let gone = Fault(kind: "answer", method: "POST", path: path, status: 409, body: body)
        try await plan(world.gateway, gone, gone, gone)
        let error = await refusal { try await client.startParts(target) }
        #expect(error?.code == .idempotentAnswerGone)
        let rest = try await plan(world.gateway)
        #expect(rest.count == 1, "the third request was not sent")
    }

    @Test("a batch answers links and problems, in order")
    func batch() async throws {
        let keys = (0..<1_003).map { $0 == 1 ? "elsewhere/x" : "\(world.folder)\($0)" }
        let results = try await world.client().batch(
            keys.map { .init(Sluice.ObjectRequest(bucket: world.bucket, key: $0)) })
        #expect(results.count == keys.count)
        for (number, result) in results.enumerated() {
            switch result {
            case .success(let link): #expect(link.key == keys[number])
            case .failure(let error):
                #expect(number == 1)
                #expect(error.code == .accessDenied)
            }
        }
        #expect((try? results[1].get()) == nil)
    }
}
