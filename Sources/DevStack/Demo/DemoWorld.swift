/// The names of what `sluice dev` creates to try the gateway with, and the commands that it prints.
public enum DemoWorld {
    /// The bucket of the embedded store.
    public static let bucket = "demo"
    /// The region in the store's signatures.
    public static let region = "us-east-1"
    /// The user with a grant, as a principal: it may put and get under ``prefix``.
    public static let user = "user:alice"
    /// A user without a grant, to see a refusal.
    public static let stranger = "user:mallory"
    /// What the grant covers.
    public static let prefix = "users/alice/"
    /// The object of the printed commands.
    public static let key = "users/alice/hello.txt"
    /// Its type.
    public static let contentType = "text/plain"
    /// What is uploaded; without characters that a shell, between single quotes, or JSON reads as anything else.
    public static let text = "Hello from Sluice"
    /// URLs that the user may get in a day: enough to try, and few enough to reach the limit.
    public static let urlsPerDay = 1_000

    /// The three commands of a first try: ask for an upload link, upload, ask for a download link and follow it.
    ///
    /// Each is one line for bash, with `curl` and `sed` alone. The lines depend on each other: they keep the links in
    /// variables.
    ///
    /// - Parameters:
    ///   - gateway: Origin of the gateway, such as `http://127.0.0.1:8080`, without a slash at its end.
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
            "curl -fsS -w '%{http_code}\\n' -X PUT -H 'Content-Type: \(contentType)' "
                + "--data-binary '\(text)' \"$upload\"",
            "download=$(\(request(gateway: gateway, token: token, body: get))) && echo \"$download\" "
                + "&& curl -fsS -w '\\n%{http_code}\\n' \"$download\"",
        ]
    }

    /// What is printed when the gateway is ready.
    ///
    /// - Parameters:
    ///   - gateway: Origin of the gateway, without a slash at its end.
    ///   - token: Bearer token of ``user``.
    ///   - strangerToken: Bearer token of ``stranger``.
    public static func instructions(gateway: String, token: String, strangerToken: String) -> String {
        let steps = [
            "Ask for an upload link (201):", "Upload (200):", "Ask for a download link (201), and follow it (200):",
        ]
        let lines = zip(steps, commands(gateway: gateway, token: token)).map { "# \($0)\n\($1)" }
        return """
            Sluice is ready at \(gateway). Paste these lines into another terminal:

            \(lines.joined(separator: "\n\n"))

            The links allow what \(user) may do below \(bucket)/\(prefix), and expire after some minutes. \
            \(stranger) may do nothing; with this token the answer is 403:
            \(strangerToken)

            """
    }

    /// A command that prints the link. The answer is JSON without spaces, and a link holds no quote; the status
    /// goes to standard error.
    private static func request(gateway: String, token: String, body: String) -> String {
        "curl -fsS -w '%{stderr}%{http_code}\\n' \(quoted("\(gateway)/v1/presigned-urls")) "
            + "-H \(quoted("Authorization: Bearer \(token)")) "
            + "-H 'Content-Type: application/json' -d \(quoted(body)) "
            + #"| sed -n 's/.*"url":"\([^"]*\)".*/\1/p'"#
    }

    /// A text as one word of a shell.
    private static func quoted(_ text: String) -> String {
        "'\(text.replacing("'", with: #"'\''"#))'"
    }
}
