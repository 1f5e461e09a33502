@testable import GatewayCore

extension AdminStore {
    /// Adds a row that an endpoint is to find, without its rules.
    func create(_ row: Resource, by change: ChangeContext) async throws(GatewayError) -> Stored<Resource> {
        try await create(Validated(unchecked: row), by: change)
    }
}
