import FoundationEssentials
import GatewayAPI
import GatewayCore
import HTTPTypes
import Signing
import Synchronization

/// Does what the people of the demo's week do when they come: asks for links, and says what arrived at the store.
final class WeekVisitor: Sendable {
    let gateway: WeekGateway
    let dice: Dice
    /// Keys of pictures and reports that were uploaded, for people who look at them.
    let uploaded = Mutex<(photos: [String], reports: [String])>(([], []))
    private let numbers = Mutex(1_000)

    init(gateway: WeekGateway, dice: Dice) {
        self.gateway = gateway
        self.dice = dice
    }

    /// What one visit needs.
    struct Visit: Sendable {
        let person: WeekPerson
        let context: RequestContext
        let notes: WeekNotes
    }

    /// Lets somebody come.
    ///
    /// - Throws: `GatewayError` if the gateway or its database fails. A refusal is part of the week.
    func receive(_ person: WeekPerson) async throws {
        let notes = WeekNotes()
        let context = RequestContext(
            caller: try await gateway.authenticator.authenticate(Secret(person.principal)),
            sourceAddress: person.address,
            requestID: UUID.version7(at: gateway.clock.now, randomBytes: dice.bytes(count: 10)).uuidString.lowercased(),
            deadline: .now + .seconds(30), refusals: notes)
        let visit = Visit(person: person, context: context, notes: notes)
        switch person.group {
        case .photographers: try await uploadPhotos(visit)
        case .editors: try await dice.chance(0.12) ? uploadVideo(visit) : lookAtPhotos(visit)
        case .analysts: try await dice.chance(0.3) ? uploadReports(visit, dice.roll(1...3)) : readReports(visit)
        case .mobile: try await useApp(visit)
        case .partners: try await readReports(visit)
        case .operations: try await person.name == "nightly-export" ? uploadReports(visit, 55) : readReports(visit)
        case nil: try await tryWhatIsClosed(visit)
        }
        guard notes.hasAny else { return }
        for (note, route, status) in notes.taken {
            _ = gateway.refusals.keep(
                RefusalRecord(
                    requestID: context.requestID, at: gateway.clock.now,
                    method: route.hasPrefix("/v1/objects")
                        ? "GET" : "POST", route: route, status: status, note: note,
                    principal: context.caller.principal, sourceAddress: context.sourceAddress))
        }
        await gateway.writeRefusals()
    }

    /// Returns a number that no name of the week has yet.
    func number() -> Int {
        numbers.withLock { number in
            number += 1
            return number
        }
    }

    /// Runs a request on its own; a refusal is noted with its route and is `nil`.
    ///
    /// - Throws: `GatewayError` if the gateway fails.
    func ask<Answer>(
        _ route: String, _ visit: Visit, _ request: () async throws(GatewayError) -> Answer
    ) async throws -> Answer? {
        do throws(GatewayError) {
            return try await request()
        } catch {
            guard error.httpStatus.code < 500 else { throw error }
            visit.notes.file(under: route, status: error.httpStatus.code)
            return nil
        }
    }

    /// Asks for a batch of links; refused ones are noted and left out.
    func askForBatch(
        _ fields: [IssueRequest.Fields], _ visit: Visit
    ) async throws -> [(fields: IssueRequest.Fields, url: IssuedURL)] {
        let requests = try fields.map { try IssueRequest($0) }
        let results = await gateway.presignedURLs.issue(requests, in: visit.context)
        visit.notes.file(under: "/v1/presigned-urls/batch", status: 200)
        return try zip(fields, results).compactMap { fields, result in
            switch result {
            case .success(let url): return (fields, url)
            case .failure(let error) where error.httpStatus.code >= 500: throw error
            case .failure: return nil
            }
        }
    }

    /// Returns the fields of a request for a download.
    func download(_ key: String, from bucket: String = DemoWorld.bucket) -> IssueRequest.Fields {
        var fields = IssueRequest.Fields()
        fields.action = Action.getObject.rawValue
        fields.bucket = bucket
        fields.key = key
        return fields
    }

    /// Returns the fields of a request for an upload.
    func upload(
        _ key: String, to bucket: String = DemoWorld.bucket, type: String, length: Int64
    ) -> IssueRequest.Fields {
        var fields = IssueRequest.Fields()
        fields.action = Action.putObject.rawValue
        fields.bucket = bucket
        fields.key = key
        fields.contentType = type
        fields.contentLength = length
        return fields
    }

    /// The present day as a folder.
    var folder: String {
        let day = SigningInstant(clampingEpochSeconds: Int64(gateway.clock.now.timeIntervalSince1970)).extended
            .prefix(10)
        return String(day.replacing("-", with: "/"))
    }
}

/// Collects why the requests of a visit were refused.
final class WeekNotes: RefusalNotes {
    private let notes = Mutex<(fresh: [RefusalNote], filed: [(RefusalNote, route: String, status: Int)])>(([], []))

    /// Takes note of a refusal.
    func note(_ refusal: RefusalNote) {
        notes.withLock { $0.fresh.append(refusal) }
    }

    /// Says which request the latest notes belong to.
    func file(under route: String, status: Int) {
        notes.withLock { notes in
            notes.filed += notes.fresh.map { ($0, route: route, status: status) }
            notes.fresh = []
        }
    }

    var hasAny: Bool { notes.withLock { !$0.filed.isEmpty } }

    var taken: [(RefusalNote, route: String, status: Int)] { notes.withLock { $0.filed } }
}
