public import ArgumentParser
import FoundationEssentials
import Signing

/// `sluice inspect`: parses strings to sign as the gateway does, and shows what their signature would allow.
public struct InspectCommand: ParsableCommand {
    /// The name and the text of `--help`.
    public static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Say what signing a client's string would allow, or why it is refused.",
        discussion: """
            Reads one JSON object per line from standard input and writes one per line
            to standard output: the verdict ('authorise' or 'refuse'), action, bucket,
            key, sub_resources, oss_headers, date_kind ('http-date' for a header,
            'epoch' for a URL) and, for a refusal, why. Grants are not consulted, and
            nothing is signed.

            Example:
            \(example)

            Inputs:
            string_to_sign   the string
            scheme           \(InspectInput.Scheme.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", "));
            .                default 'oss-v1'
            now              as 2024-05-17T08:30:00Z
            max_presign_ttl  seconds that a URL may live
            security_token   that of the credential that would sign, if it has one
            canonical_request, endpoint, bucket, addressing, region, access_key_id
            .                also required for 'oss-v4' and 'aws-v4', whose strings
            .                contain only a hash: the request that was hashed, the
            .                store and the credential that would sign

            If a line cannot be read, its answer is
            {"name", "error": {"code", "detail"}}; the run continues, and its exit
            status is 1. A line may be up to 1 MiB long.
            """
    )

    // Help is wrapped to the terminal's width, so `tr` joins the pasted lines.
    private static let example = #"""
        echo '{"name": "first", "now": "2024-05-17T08:30:00Z",
        "max_presign_ttl": 3600, "string_to_sign":
        "PUT\n\nimage/png\nFri, 17 May 2024 08:30:00 GMT\n/demo/a.png"}' |
        tr '\n' ' ' | sluice inspect
        """#

    /// Creates the command, for the parser.
    public init() {}

    /// Inspects the strings on standard input.
    ///
    /// - Throws: `ExitCode.failure` at the end if a line could not be read.
    public func run() throws {
        try JSONLines.run(Self.answer(to:))
    }

    private static func answer(to line: Data) throws(JSONLines.ErrorAnswer) -> InspectOutput {
        let input: InspectInput
        do { input = try JSONDecoder().decode(InspectInput.self, from: line) } catch {
            throw JSONLines.ErrorAnswer(name: LineName.read(from: line), error: LineFailure(error))
        }
        do {
            return InspectOutput(name: input.name, try permitted(input, by: input.rules).permission)
        } catch let refusal as StringToSignRefusal {
            return InspectOutput(name: input.name, refusal, of: input)
        } catch {
            throw JSONLines.ErrorAnswer(name: input.name, error: LineFailure(error))
        }
    }

    private static func permitted(_ input: InspectInput, by rules: StringRules) throws -> PermittedString {
        guard let signer = try input.signer else {
            return try ReceivedStringToSign(input.stringToSign, vendor: input.vendor).permitted(by: rules)
        }
        guard let text = input.canonicalRequest else { throw StringToSignRefusal.canonicalRequestNeeded }
        return try ReceivedCanonicalRequest(text, scope: signer.scope)
            .permitted(stringToSign: input.stringToSign, by: signer, rules)
    }
}
