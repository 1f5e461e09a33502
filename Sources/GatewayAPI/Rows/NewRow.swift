import FoundationEssentials
import GatewayCore

/// The values that the gateway gives a new row.
struct NewRow: Sendable {
    /// A new UUIDv7.
    let id: UUID
    /// The value of `createdAt` until the store sets its own.
    let now: Date
    /// The principal of the caller who creates the row.
    let actor: Principal
}
