import GatewayAPI
import Synchronization

/// Whether the gateway has been told to stop, for `/readyz` and for all that must know. ``DrainDelay`` begins it.
final class Draining: Sendable {
    private let hasBegun = Atomic(false)

    /// Whether the gateway has been told to stop.
    var isUnderWay: Bool { hasBegun.load(ordering: .relaxed) }

    /// The check of `/readyz`.
    var check: ReadinessCheck {
        ReadinessCheck(
            name: "serving",
            flaw: isUnderWay ? "The gateway is draining: it stops soon, so send it no new requests." : nil)
    }

    /// Notes that the gateway has been told to stop.
    func begin() {
        hasBegun.store(true, ordering: .relaxed)
    }
}
