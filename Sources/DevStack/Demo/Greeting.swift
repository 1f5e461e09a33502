import Foundation
public import ServiceLifecycle

/// Prints instructions as soon as the services started before it are running.
public struct Greeting: Service {
    private let text: String

    /// Composes the text.
    ///
    /// - Parameters:
    ///   - gateway: Origin of the gateway, such as `http://127.0.0.1:8080`, without a trailing slash.
    ///   - keys: The tokens to print; the admin's token is printed only on the first start.
    public init(gateway: String, keys: DemoKeys) {
        var text = DemoWorld.instructions(
            gateway: gateway, token: keys.userToken, strangerToken: keys.strangerToken)
        if keys.areNew {
            text += "\nThe admin's key, for 'sluice admin' and /admin/v1. It is printed only this once:\n"
            text += "export SLUICE_ADMIN_KEY=\(keys.adminKey)\n"
        }
        self.text = text + "\nCtrl-C stops everything.\n"
    }

    /// Prints the text, and waits for the service group to stop.
    public func run() async throws {
        // `print` would buffer the text if standard output is not a terminal.
        try FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
        try await gracefulShutdown()
    }
}
