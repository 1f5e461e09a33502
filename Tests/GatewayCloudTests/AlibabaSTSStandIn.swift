import Foundation
import HTTPServing
import HTTPTesting
import HTTPTypes
import LibCrypto
import Synchronization

/// The AssumeRole call of Alibaba Cloud's security token service. It checks signatures, dates and nonces by the
/// documentation, and shares no code with the signer.
final class AlibabaSTSStandIn: Sendable {
    static let accessKeyID = "LTAIFAKEPUBLIC000001"
    static let secret = "fakePublicOssSecret0123456789x"

    private struct State {
        var nonces: Set<String> = []
        var calls: [[String: String]] = []
        var codes: [String] = []
    }

    private let state = Mutex(State())
    private let now: @Sendable () -> Date
    private let life: TimeInterval?

    /// - Parameters:
    ///   - now: The service's clock.
    ///   - life: Lifetime of all sessions, in seconds, whatever was requested; `nil` for the requested one.
    init(now: @escaping @Sendable () -> Date, life: TimeInterval? = nil) {
        self.now = now
        self.life = life
    }

    /// Parameters of the accepted calls.
    var calls: [[String: String]] { state.withLock { $0.calls } }
    /// Error codes of the refused calls.
    var codes: [String] { state.withLock { $0.codes } }

    /// Answers a request whose parameters are in the query.
    func answer(_ head: RequestHead) -> ServerResponse {
        let target = head.target
        let query = target.split(separator: "?", maxSplits: 1).dropFirst().first.map(String.init) ?? ""
        var headers: [String: String] = [:]
        for field in head.headerFields { headers[field.name.canonicalName.lowercased()] = field.value }
        let (parameters, flaw) = Self.verify(
            method: head.method.rawValue, query: query, headers: headers, secret: Self.secret)
        if let flaw { return refuse(403, flaw) }
        guard parameters["AccessKeyId"] == Self.accessKeyID else { return refuse(404, "InvalidAccessKeyId.NotFound") }
        guard parameters["Action"] == "AssumeRole", parameters["Version"] == "2015-04-01" else {
            return refuse(400, "InvalidAction.NotFound")
        }
        guard let date = try? Date(parameters["Timestamp"] ?? "", strategy: .iso8601),
            abs(date.timeIntervalSince(now())) <= 900
        else { return refuse(400, "InvalidTimeStamp.Expired") }
        let nonce = parameters["SignatureNonce"] ?? ""
        guard !nonce.isEmpty, state.withLock({ $0.nonces.insert(nonce).inserted }) else {
            return refuse(400, "SignatureNonceUsed")
        }
        guard let policy = parameters["Policy"], 1...2048 ~= policy.count,
            (try? JSONSerialization.jsonObject(with: Data(policy.utf8))) != nil
        else { return refuse(400, "InvalidParameter.PolicyGrammar") }
        guard let seconds = parameters["DurationSeconds"].flatMap({ Int($0) }), 900...43_200 ~= seconds else {
            return refuse(400, "InvalidParameter.DurationSeconds")
        }
        state.withLock { $0.calls.append(parameters) }
        let end = now().addingTimeInterval(life ?? TimeInterval(seconds))
        return .bytes(
            """
            {"RequestId":"r","AssumedRoleUser":{"Arn":"a","AssumedRoleId":"i"},"Credentials":{"AccessKeyId":"STS.N1",\
            "AccessKeySecret":"made-up","SecurityToken":"CAIS/+=","Expiration":"\(end.formatted(.iso8601))"}}
            """)
    }

    private func refuse(_ status: Int, _ code: String) -> ServerResponse {
        state.withLock { $0.codes.append(code) }
        return .bytes(
            #"{"RequestId":"r","HostId":"h","Code":"\#(code)","Message":"do not show","Recommend":"u"}"#,
            status: .init(code: status))
    }
}

extension AlibabaSTSStandIn {
    /// Verifies a signature; returns all parameters by their names in the older protocol, and the code of an error.
    static func verify(
        method: String, query: String, headers: [String: String], secret: String
    ) -> (parameters: [String: String], flaw: String?) {
        var parameters: [String: String] = [:]
        for pair in query.split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            parameters[decoded(halves[0])] = halves.count > 1 ? decoded(halves[1]) : ""
        }
        guard let authorization = headers["authorization"] else {
            return (parameters, rpcFlaw(method: method, parameters, secret: secret))
        }
        parameters["Action"] = headers["x-acs-action"]
        parameters["Version"] = headers["x-acs-version"]
        parameters["Timestamp"] = headers["x-acs-date"]
        parameters["SignatureNonce"] = headers["x-acs-signature-nonce"]
        guard
            let match = authorization.wholeMatch(
                of: /ACS3-HMAC-SHA256 Credential=([^,]+),SignedHeaders=([^,]+),Signature=([0-9a-f]{64})/)
        else { return (parameters, "IncompleteSignature") }
        parameters["AccessKeyId"] = String(match.1)
        let names = match.2.split(separator: ";").map(String.init)
        let own = headers.keys.filter { $0.hasPrefix("x-acs-") } + ["host"]
        guard names == names.sorted(), own.allSatisfy(names.contains) else {
            return (parameters, "IncompleteSignature")
        }
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        guard headers["x-acs-content-sha256"] == empty else { return (parameters, "SignatureDoesNotMatch") }
        let sorted = query.split(separator: "&").map(String.init).sorted()
        let lines =
            [method, "/", sorted.joined(separator: "&")]
            + names.map { "\($0):\((headers[$0] ?? "").trimmingCharacters(in: .whitespaces))" }
            + ["", names.joined(separator: ";"), empty]
        let hash = DigestAlgorithm.sha256.digest(of: Array(lines.joined(separator: "\n").utf8)).hex
        let expected = HMACKey(Array(secret.utf8), algorithm: .sha256)
            .authenticationCode(for: Array("ACS3-HMAC-SHA256\n\(hash)".utf8)).hex
        return (parameters, expected == match.3 ? nil : "SignatureDoesNotMatch")
    }

    private static func rpcFlaw(method: String, _ parameters: [String: String], secret: String) -> String? {
        guard parameters["SignatureMethod"] == "HMAC-SHA1", parameters["SignatureVersion"] == "1.0",
            parameters["Format"] == "JSON"
        else { return "InvalidParameter.SignatureMethod" }
        let canonical = parameters.filter { $0.key != "Signature" }
            .map { "\(encoded($0.key))=\(encoded($0.value))" }
            .sorted().joined(separator: "&")
        let text = "\(method)&%2F&\(encoded(canonical))"
        let expected = HMACKey(Array("\(secret)&".utf8), algorithm: .sha1).authenticationCode(for: Array(text.utf8))
            .base64
        return parameters["Signature"] == expected ? nil : "SignatureDoesNotMatch"
    }

    private static func encoded(_ text: String) -> String {
        let kept = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")
        return text.addingPercentEncoding(withAllowedCharacters: kept) ?? ""
    }

    private static func decoded(_ text: String) -> String { text.removingPercentEncoding ?? "" }
}
