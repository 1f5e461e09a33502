import LocalFiles

/// Which gateway is called, with which key, and who said so.
struct AdminAccess: Sendable {
    /// The gateway's URL.
    let url: String
    /// What set the URL, for error messages.
    let urlSource: String
    /// The bearer token. It never comes from the command line, where other users could read it.
    let key: String
    /// What set the key, for error messages.
    let keySource: String

    /// Takes the URL from the option or the environment, and the key from the environment.
    ///
    /// - Parameters:
    ///   - url: The value of `--url`; `nil` if absent.
    ///   - environment: The environment.
    init(url: String?, environment: [String: String]) throws(AdminFailure) {
        if let url {
            self.url = url
            urlSource = "'--url' sets this URL."
        } else if let url = environment["SLUICE_ADMIN_URL"], !url.isEmpty {
            self.url = url
            urlSource = "SLUICE_ADMIN_URL sets this URL."
        } else {
            self.url = "http://127.0.0.1:8080"
            urlSource = "This URL is the default. SLUICE_ADMIN_URL or '--url' sets another."
        }
        if let key = environment["SLUICE_ADMIN_KEY"], !key.isEmpty {
            self.key = key
            keySource = "SLUICE_ADMIN_KEY"
        } else if let file = environment["SLUICE_ADMIN_KEY_FILE"], !file.isEmpty {
            key = try AdminFiles.text(file).trimmed()
            keySource = "SLUICE_ADMIN_KEY_FILE"
        } else {
            throw .usage(
                "Set SLUICE_ADMIN_KEY to the key, or SLUICE_ADMIN_KEY_FILE to the name of a file that holds it.")
        }
    }
}
