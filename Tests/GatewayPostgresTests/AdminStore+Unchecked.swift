import Foundation

@testable import GatewayCore

extension AdminStore {
    /// Adds a row whose rules no test of this target is about.
    func create(_ row: Resource, by change: ChangeContext) async throws(GatewayError) -> Stored<Resource> {
        try await create(Validated(unchecked: row), by: change)
    }

    /// Replaces a row by one whose rules no test of this target is about.
    func update(
        _ row: Resource, from revision: UUID, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<Resource> {
        try await update(Validated(unchecked: row), from: revision, by: change)
    }
}

extension ProposedGrant {
    /// Proposes a grant whose rules no test of this target is about.
    init(place: Int, id: UUID?, revision: UUID? = nil, grant: Grant) {
        self.init(place: place, id: id, revision: revision, grant: Validated(unchecked: grant))
    }
}
