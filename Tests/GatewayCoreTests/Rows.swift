import Foundation
import GatewayCore
import Synchronization

/// Rows of one kind, in memory.
final class Rows<Resource: ValidatedRow>: AdminStore {
    private struct State {
        var rows: [String: Stored<Resource>] = [:]
        var changes: [ChangeContext] = []
        var reads = 0
    }

    private let kind: ResourceKind
    private let identify: @Sendable (Resource) -> String
    private let state = Mutex(State())

    init(_ kind: ResourceKind, _ identify: @escaping @Sendable (Resource) -> String) {
        self.kind = kind
        self.identify = identify
    }

    var count: Int { state.withLock { $0.rows.count } }
    var changes: [ChangeContext] { state.withLock { $0.changes } }
    var reads: Int { state.withLock { $0.reads } }

    func create(
        _ resource: Validated<Resource>, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<Resource> {
        let stored = Stored(row: resource.row, revision: UUID())
        state.withLock { state in
            state.rows[identify(resource.row)] = stored
            state.changes.append(change)
        }
        return stored
    }

    func get(_ id: String) async throws(GatewayError) -> Stored<Resource> {
        let row = state.withLock { state in
            state.reads += 1
            return state.rows[id]
        }
        guard let row else { throw .notFound(kind) }
        return row
    }

    func list(_ query: ListQuery) async throws(GatewayError) -> Page<Resource> {
        Page(items: state.withLock { $0.rows.values.map(\.row) }, nextPageToken: nil)
    }

    func update(
        _ resource: Validated<Resource>, from revision: UUID, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<Resource> {
        guard try await get(identify(resource.row)).revision == revision else { throw .preconditionFailed }
        return try await create(resource, by: change)
    }

    func delete(_ id: String, revision: UUID?, by change: ChangeContext) async throws(GatewayError) {
        state.withLock { state in
            state.rows[id] = nil
            state.changes.append(change)
        }
    }
}
