public import ArgumentParser
import FoundationEssentials

/// `sluice sign`: signs descriptions of requests offline, and shows each stage.
public struct SignCommand: ParsableCommand {
    /// The name and the text of `--help`.
    public static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Sign requests offline and show each stage of the signature.",
        discussion: """
            Reads one JSON object per line from standard input and writes one per line
            to standard output: the URL, the canonical request, the string to sign,
            the signature and the headers that the client must send. Compare them with
            what a store answers together with SignatureDoesNotMatch. Nothing is sent
            anywhere. Any object key is signed, even one that the gateway refuses.

            Schemes: \(SignScheme.all.map(\.name).joined(separator: ", ")).

            Example:
            \(example)

            Inputs:
            endpoint      endpoint of the store; with 'virtual' and 'path' it may
            .             already contain the bucket
            bucket, key   the object, decoded; for 'cloudfront-cookies' also a prefix
            .             that ends with '/', or nothing for the whole bucket
            addressing    'virtual', 'path', or 'cname' for a host that is the
            .             bucket's own
            region
            service       default 's3', 'oss' or 'sts', by the scheme
            method, now   'now' as 2024-05-17T08:30:00Z
            expires_in    seconds; not for 'header' schemes
            access_key_id, secret_access_key, security_token
            .             'gcs-v2-rsa-query', 'gcs-v4-rsa-query', 'gcs-v4-post' and
            .             'cloudfront' schemes take private_key_pem instead of
            .             secret_access_key
            content_type, content_md5, content_length, payload_sha256, headers
            .             headers of the request; the signature binds them
            additional_headers
            .             names of the headers that OSS V4 binds besides the type,
            .             the MD5 and x-oss-*; it does not bind any others
            query         further parameters, decoded
            fields, conditions, policy_base64
            .             'post' schemes: fields of the form, conditions of its
            .             policy, or a complete policy to sign
            params, action, version, nonce
            .             'sts' schemes: RoleArn, RoleSessionName, DurationSeconds,
            .             Policy, ExternalId, and those of Alibaba Cloud; a POST of
            .             'sts-ali-rpc-v1' is a form, as Node.js sends it, unless
            .             SignatureType is among its parameters
            hash, source_address
            .             'cloudfront' schemes: 'SHA-1' or 'SHA-256'; the IPv4
            .             address that the link or the cookies are for
            validity      'alibaba-cdn' schemes: seconds for which the CDN accepts a
            .             link
            path_as_sent  the path of the URL, literally
            path_slash_encoding
            .             '%2F' writes each '/' of the key as %2F in the URL

            If a line cannot be signed, its answer is
            {"name", "error": {"code", "detail"}}; the run continues, and its exit
            status is 1. A line may be up to 1 MiB long.
            """
    )

    // Help is wrapped to the terminal's width, so `tr` joins the pasted lines.
    private static let example = """
        echo '{"name": "first", "scheme": "aws-v4-query", "inputs": {
        "endpoint": "https://s3.eu-west-1.amazonaws.com",
        "region": "eu-west-1", "bucket": "demo", "addressing": "virtual",
        "method": "GET", "key": "a b.txt", "access_key_id": "AKIDEXAMPLE",
        "secret_access_key": "example", "now": "2024-05-17T08:30:00Z",
        "expires_in": 900}}' | tr '\\n' ' ' | sluice sign
        """

    /// Creates the command, for the parser.
    public init() {}

    /// Signs the requests described on standard input.
    ///
    /// - Throws: `ExitCode.failure` at the end if a line could not be signed.
    public func run() throws {
        try JSONLines.run { line throws(JSONLines.ErrorAnswer) in try Self.answer(to: line) }
    }

    private static func answer(
        to line: Data
    ) throws(JSONLines.ErrorAnswer) -> SignOutput {
        let decoder = JSONDecoder()
        let name = LineName.read(from: line)
        do {
            let scheme = try SignScheme.named(decoder.decode(LineHead.self, from: line).scheme)
            var output = try scheme.sign(decoder.decode(SignInput.self, from: line).inputs)
            output.name = name
            return output
        } catch {
            throw JSONLines.ErrorAnswer(name: name, error: LineFailure(error))
        }
    }

    /// The members that every line has, in any scheme.
    private struct LineHead: Decodable {
        let name: String
        let scheme: String
    }
}
