import FoundationEssentials
public import GatewayCore
import LocalFiles
public import ServiceLifecycle

/// Prints instructions as soon as the services started before it are running.
public struct Greeting: Service {
    private let text: String

    /// Composes the text.
    ///
    /// - Parameters:
    ///   - gateway: Origin of the gateway, such as `http://127.0.0.1:8080`, without a trailing slash.
    ///   - keys: The tokens to print. Each start prints them, so that a lost terminal loses none.
    ///   - store: Origin of the store.
    ///   - consoleKey: The admin key that the console's address contains.
    ///   - ossSample: Origin at which the sample of the OSS SDK gets credentials, if it is served.
    public init(gateway: String, keys: DemoKeys, store: String, consoleKey: Secret<String>, ossSample: String?) {
        var text = DemoWorld.instructions(
            gateway: gateway, token: keys.userToken, strangerToken: keys.strangerToken, store: store,
            ossSample: ossSample)
        text += "\n" + Self.example(gateway: gateway, keys: keys)
        text += "\n" + Self.console(gateway: gateway, key: consoleKey)
        text += "\n" + Self.exports(gateway: gateway, keys: keys)
        self.text = text + "\nCtrl-C stops everything.\n"
    }

    /// The address of the example for browsers, which signs in.
    private static func example(gateway: String, keys: DemoKeys) -> String {
        """
        A page that uploads files, signed in as \(DemoWorld.user):
        \(gateway)\(WebExample.path)#token=\(keys.userToken)

        """
    }

    /// The console's address, which signs in once.
    private static func console(gateway: String, key: Secret<String>) -> String {
        """
        The console, which is signed in when you open this address; it works once, within an hour:
        \(gateway)/console#once=\(key.reveal())

        """
    }

    /// The lines that let commands, clients and examples use this gateway.
    static func exports(gateway: String, keys: DemoKeys) -> String {
        """
        For 'sluice admin', /admin/v1 and the examples of the documentation, as the admin:
        export SLUICE_ADMIN_URL=\(gateway)
        export SLUICE_ADMIN_KEY=\(keys.adminKey)

        For 'sluice put', 'get', 'share', 'ls' and 'rm', and the clients for JavaScript and Swift, as \(DemoWorld.user):
        export SLUICE_URL=\(gateway)
        export SLUICE_KEY=\(keys.userToken)

        """
    }

    /// Prints the text, and waits for the service group to stop.
    public func run() async throws {
        // `print` would buffer the text if standard output is not a terminal.
        try OpenFile.standardOutput.write(text.utf8)
        try await gracefulShutdown()
    }
}
