import ArgumentParser
import Foundation
import Signing

/// `sluice inspect`: reads strings to sign as the gateway would and says what their signature would allow.
struct InspectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Say what signing a client's string would allow, or why it is refused.",
        discussion: """
            Reads one JSON object a line on standard input and answers one a line on
            standard output: the verdict ('authorise' or 'refuse'), action, bucket,
            key, sub_resources, oss_headers, date_kind ('http-date' for a header,
            'epoch' for a URL) and, for a refusal, why. Grants are not consulted and
            nothing is signed.

            Example:
            \(example)

            Inputs:
            string_to_sign   the string
            scheme           \(InspectInput.Scheme.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", "));
            .                'oss-v1' unless given
            now              as 2024-05-17T08:30:00Z
            max_presign_ttl  seconds that a URL may live
            security_token   of the credential that would sign, if it has one
            canonical_request, endpoint, bucket, addressing, region, access_key_id
            .                'oss-v4' and 'aws-v4', whose strings hold only a hash,
            .                need these as well: the request as it was hashed, and
            .                what the store is and who would sign

            A line that cannot be read is answered with
            {"name", "error": {"code", "detail"}} and does not end the run; the exit
            status is then 1. A line may be up to 1 MiB long.
            """
    )

    private static let maxLineBytes = 1 << 20
    // Whatever the width of the terminal, `tr` makes one line of what was pasted.
    private static let example = #"""
        echo '{"name": "first", "now": "2024-05-17T08:30:00Z",
        "max_presign_ttl": 3600, "string_to_sign":
        "PUT\n\nimage/png\nFri, 17 May 2024 08:30:00 GMT\n/demo/a.png"}' |
        tr '\n' ' ' | sluice inspect
        """#

    func run() throws {
        var lines = LineReader(maxLineBytes: Self.maxLineBytes) { FileHandle.standardInput.availableData }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var failed = false
        while let line = lines.next() {
            let answer: Data
            switch Self.answer(to: line) {
            case nil: continue
            case .success(let output): answer = try encoder.encode(output)
            case .failure(let failure):
                failed = true
                answer = try encoder.encode(SignOutput(name: failure.name, failure.reason))
            }
            try FileHandle.standardOutput.write(contentsOf: answer + Data("\n".utf8))
        }
        if failed { throw ExitCode.failure }
    }

    /// Why a line was not inspected.
    private struct Failure: Error {
        let name: String?
        let reason: SignFailure
    }

    /// The answer to a line; none to an empty one.
    private static func answer(to line: LineReader.Line) -> Result<InspectOutput, Failure>? {
        guard case .text(let data) = line else {
            let reason = SignFailure(code: "LineTooLong", detail: "A line may be up to \(maxLineBytes) bytes long.")
            return .failure(Failure(name: nil, reason: reason))
        }
        guard !data.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) else { return nil }
        guard let input = try? JSONDecoder().decode(InspectInput.self, from: data) else {
            let reason = SignFailure(
                code: "MalformedLine",
                detail: "The line is no JSON object with 'name', 'now', 'max_presign_ttl' and 'string_to_sign'.")
            return .failure(Failure(name: nil, reason: reason))
        }
        guard let rules = input.rules else {
            let reason = SignFailure(code: "InvalidInput", detail: "'now' is not a time like 2024-05-17T08:30:00Z.")
            return .failure(Failure(name: input.name, reason: reason))
        }
        do {
            let permitted = try permitted(input, signer: input.signer, rules)
            return .success(InspectOutput(name: input.name, permitted.permission))
        } catch let refusal as StringToSignRefusal {
            return .success(InspectOutput(name: input.name, refusal, of: input))
        } catch let error as SigningError {
            return .failure(Failure(name: input.name, reason: SignFailure(code: error.code, detail: error.detail)))
        } catch {
            let reason = error as? SignFailure ?? SignFailure(code: "InvalidInput", detail: "An input is not usable.")
            return .failure(Failure(name: input.name, reason: reason))
        }
    }

    private static func permitted(
        _ input: InspectInput, signer: ReceivedCanonicalRequest.Signer?, _ rules: StringRules
    ) throws(StringToSignRefusal) -> PermittedString {
        guard let signer else {
            return try ReceivedStringToSign(input.stringToSign, vendor: input.vendor).permitted(by: rules)
        }
        guard let text = input.canonicalRequest else { throw .canonicalRequestNeeded }
        return try ReceivedCanonicalRequest(text, scope: signer.scope)
            .permitted(stringToSign: input.stringToSign, by: signer, rules)
    }
}
