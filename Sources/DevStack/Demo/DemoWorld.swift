/// The names that `sluice dev` uses for its demo, and the commands that it prints.
public enum DemoWorld {
    /// The name of the bucket in the embedded store.
    public static let bucket = "demo"
    /// The name of the bucket that the store serves in the language of Alibaba OSS.
    static let ossBucket = "demo-oss"
    /// The region in the store's signatures.
    static let region = "us-east-1"
    /// The region in signatures of OSS.
    static let ossRegion = "cn-hangzhou"
    /// The port at which the sample of the OSS SDK for iOS asks for credentials.
    public static let ossSamplePort: UInt16 = 7080
    /// The user with a grant, as a principal. The grant permits all actions under ``prefix``.
    public static let user = "user:alice"
    /// A user without a grant, for demonstrating a refusal.
    static let stranger = "user:mallory"
    /// The prefix that the grant covers.
    static let prefix = "users/alice/"
    /// The key of the object in the printed commands.
    static let key = "users/alice/hello.txt"
    /// The content type of the object.
    static let contentType = "text/plain"
    /// The content of the object. It contains no character that has a special meaning in JSON, or in a shell between
    /// single quotes.
    public static let text = "Hello from Sluice"
    /// Number of URLs that the user may get per day: enough to experiment, and few enough to reach the limit.
    static let urlsPerDay = 1_000

    /// The name of the API key in the console's one-time address.
    static let consoleKeyName = "Console, one-time address"
    /// How long that key is valid, in hours.
    static let consoleHours = 1.0

    /// Returns the three commands of a first try: ask for an upload link, upload, ask for a download link and follow
    /// it.
    ///
    /// Each is one line for bash that needs only `curl` and `sed`. Later lines use the links that earlier lines stored
    /// in variables. They ask no proxy that the user's shell names: it would read the token.
    ///
    /// - Parameters:
    ///   - gateway: Origin of the gateway, such as `http://127.0.0.1:8080`, without a trailing slash.
    ///   - token: The user's bearer token.
    public static func commands(gateway: String, token: String) -> [String] {
        let put = """
            {"action":"PutObject","bucket":"\(bucket)","key":"\(key)","contentType":"\(contentType)",\
            "contentLength":\(text.utf8.count)}
            """
        let get = """
            {"action":"GetObject","bucket":"\(bucket)","key":"\(key)"}
            """
        return [
            "upload=$(\(request(gateway: gateway, token: token, body: put))) && echo \"$upload\"",
            "\(curl) -w '%{http_code}\\n' -X PUT -H 'Content-Type: \(contentType)' "
                + "--data-binary '\(text)' \"$upload\"",
            "download=$(\(request(gateway: gateway, token: token, body: get))) && echo \"$download\" "
                + "&& \(curl) -w '\\n%{http_code}\\n' \"$download\"",
        ]
    }

    /// Returns the text to print when the gateway is ready.
    ///
    /// - Parameters:
    ///   - gateway: Origin of the gateway, without a trailing slash.
    ///   - token: Bearer token of ``user``.
    ///   - strangerToken: Bearer token of ``stranger``.
    ///   - store: Origin of the store.
    ///   - ossSample: Origin at which the sample of the OSS SDK gets credentials, if it is served.
    static func instructions(
        gateway: String, token: String, strangerToken: String, store: String, ossSample: String? = nil
    ) -> String {
        let steps = [
            "Ask for an upload link (201):", "Upload (200):", "Ask for a download link (201), and follow it (200):",
        ]
        let lines = zip(steps, commands(gateway: gateway, token: token)).map { "# \($0)\n\($1)" }
        return """
            Sluice is ready at \(gateway). Paste these lines into another terminal:

            \(lines.joined(separator: "\n\n"))

            The links allow what \(user) may do below \(bucket)/\(prefix), and expire after 15 minutes. \
            \(stranger) may do nothing; with this token the answer is 403:
            \(strangerToken)

            The store at \(store) is for development only. It also serves the bucket \(ossBucket), in the language of \
            Alibaba OSS (region \(ossRegion), bucket in the path), with temporary credentials for both buckets.
            \(sampleLine(ossSample))
            """
    }

    private static func sampleLine(_ origin: String?) -> String {
        guard let origin else {
            return "Start with --oss-sample to serve http://127.0.0.1:\(ossSamplePort)/distribute-token.json.\n"
        }
        return "\(origin)/distribute-token.json gives credentials of \(user) to whoever asks on this machine.\n"
    }

    private static let curl = "curl -fsS --noproxy 127.0.0.1"

    /// Returns a command that prints the link. `sed` is sufficient because the answer is JSON without spaces and a link
    /// contains no quotes. The status goes to standard error.
    private static func request(gateway: String, token: String, body: String) -> String {
        "\(curl) -w '%{stderr}%{http_code}\\n' \(quoted("\(gateway)/v1/presigned-urls")) "
            + "-H \(quoted("Authorization: Bearer \(token)")) "
            + "-H 'Content-Type: application/json' -d \(quoted(body)) "
            + #"| sed -n 's/.*"url":"\([^"]*\)".*/\1/p'"#
    }

    /// Quotes a text as one shell word.
    private static func quoted(_ text: String) -> String {
        "'\(text.replacing("'", with: #"'\''"#))'"
    }
}
