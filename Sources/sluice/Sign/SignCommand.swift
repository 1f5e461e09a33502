import ArgumentParser
import Foundation
import Signing

/// `sluice sign`: signs descriptions of requests offline and shows each stage.
struct SignCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Sign requests offline and show each stage of the signature.",
        discussion: """
            Reads one JSON object a line on standard input and answers one a line on
            standard output: the URL, the canonical request, the string to sign, the
            signature and the headers that the client must send. Compare them with
            what a store prints beside SignatureDoesNotMatch. Nothing is sent
            anywhere, and any key is signed, also one that the gateway would refuse.

            Schemes: \(SignScheme.all.map(\.name).joined(separator: ", ")).

            Example:
            \(example)

            Inputs:
            endpoint      store's endpoint, without the bucket; for 'virtual' it may
            .             also be the one that begins with the bucket
            bucket, key   the object, decoded
            addressing    'virtual', 'path', or 'cname': the host is the bucket's
            region
            service       's3' or 'oss' unless given
            method, now   'now' as 2024-05-17T08:30:00Z
            expires_in    seconds; not in 'header' schemes
            access_key_id, secret_access_key, security_token
            .             'gcs-v4-rsa-query' and 'gcs-v4-post' take private_key_pem
            .             in place of secret_access_key
            content_type, content_md5, content_length, payload_sha256, headers
            .             headers of the request; they are bound
            additional_headers
            .             names of those that OSS V4 binds besides the type, the
            .             MD5 and x-oss-*; it leaves the others open
            query         further parameters, decoded
            fields, conditions, policy_base64
            .             'post' schemes: fields of the form, what its policy
            .             demands, or a policy to sign as it is
            params, action, version, nonce
            .             'sts' schemes: RoleArn, RoleSessionName, DurationSeconds,
            .             Policy, ExternalId, and what Alibaba Cloud adds; a POST of
            .             'sts-ali-rpc-v1' is a form, as Node.js sends it, unless
            .             SignatureType is among its parameters
            path_as_sent  the path of the URL, literally
            path_slash_encoding
            .             '%2F' writes each '/' of the key so in the URL

            A line that cannot be signed is answered with
            {"name", "error": {"code", "detail"}} and does not end the run; the exit
            status is then 1. A line may be up to 1 MiB long.
            """
    )

    private static let maxLineBytes = 1 << 20
    // Whatever the width of the terminal, `tr` makes one line of what was pasted.
    private static let example = """
        echo '{"name": "first", "scheme": "aws-v4-query", "inputs": {
        "endpoint": "https://s3.eu-west-1.amazonaws.com",
        "region": "eu-west-1", "bucket": "demo", "addressing": "virtual",
        "method": "GET", "key": "a b.txt", "access_key_id": "AKIDEXAMPLE",
        "secret_access_key": "example", "now": "2024-05-17T08:30:00Z",
        "expires_in": 900}}' | tr '\\n' ' ' | sluice sign
        """

    func run() throws {
        var lines = LineReader(maxLineBytes: Self.maxLineBytes) { FileHandle.standardInput.availableData }
        let keys = SigningKeyCache(capacity: 64)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var failed = false
        while let line = lines.next() {
            let output = Self.answer(to: line, keys: keys)
            guard let output else { continue }
            failed = failed || output.error != nil
            try FileHandle.standardOutput.write(contentsOf: encoder.encode(output) + Data("\n".utf8))
        }
        if failed { throw ExitCode.failure }
    }

    /// The answer to a line; none to an empty one.
    private static func answer(to line: LineReader.Line, keys: SigningKeyCache) -> SignOutput? {
        guard case .text(let data) = line else {
            return SignOutput(
                name: nil, SignFailure(code: "LineTooLong", detail: "A line may be up to \(maxLineBytes) bytes long.")
            )
        }
        guard !data.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) else { return nil }
        let decoder = JSONDecoder()
        let name = try? decoder.decode(LineName.self, from: data).name
        do {
            let scheme = try SignScheme.named(decoder.decode(LineHead.self, from: data).scheme)
            var output = try scheme.sign(decoder.decode(SignInput.self, from: data).inputs, keys)
            output.name = name
            return output
        } catch {
            return SignOutput(name: name, SignFailure(error))
        }
    }

    /// What an error line repeats, as long as it can be read.
    private struct LineName: Decodable {
        let name: String
    }

    /// What every line has, whatever its scheme.
    private struct LineHead: Decodable {
        let name: String
        let scheme: String
    }
}

extension SignFailure {
    /// Names a mistake without repeating a value of the line, which may be a secret.
    fileprivate init(_ error: any Error) {
        switch error {
        case let failure as SignFailure:
            self = failure
        case let error as SigningError:
            self.init(code: error.code, detail: error.detail)
        case DecodingError.keyNotFound(let key, let context):
            self.init(code: "InvalidInput", detail: "'\(Self.path(context.codingPath + [key]))' is absent.")
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            let path = Self.path(context.codingPath)
            self.init(
                code: path.isEmpty ? "MalformedLine" : "InvalidInput",
                detail: path.isEmpty ? "The line is not a JSON object." : "'\(path)' has a value of the wrong kind."
            )
        default:
            self.init(code: "MalformedLine", detail: "The line cannot be read.")
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        keys.map(\.stringValue).joined(separator: ".")
    }
}
