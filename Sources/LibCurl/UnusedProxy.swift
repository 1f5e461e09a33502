import FoundationEssentials

/// A proxy that the environment names, and that no transfer uses.
public enum UnusedProxy {
    private static let variables = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]

    /// A sentence for a user whose request has no answer; `nil` if the environment names no proxy.
    public static var note: String? {
        let environment = ProcessInfo.processInfo.environment
        let variable = variables.first { environment[$0]?.isEmpty == false }
        return variable.map { "Sluice uses no proxy: \($0) has no effect." }
    }
}
