import Bytes

extension AWSV4 {
    /// Signs a call of AssumeRole of AWS and compatible stores, whose parameters are a form in the body.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - endpoint: The service, such as `https://sts.eu-west-1.amazonaws.com`.
    ///   - key: Key of the credential that may assume the role, for the service `sts` and the day of `instant`.
    ///   - instant: When the request is made.
    /// - Returns: The request with its body.
    /// - Throws: ``SigningError``.
    public static func assumeRole(
        _ call: AssumeRole, endpoint: StoreEndpoint, with key: SigningKeyV4, at instant: SigningInstant
    ) throws(SigningError) -> AuthorizedRequest {
        var body: [UInt8] = []
        let fixed = [NamedValue("Action", "AssumeRole"), NamedValue("Version", "2011-06-15")]
        for parameter in fixed + call.parameters {
            if !body.isEmpty { body.append(UInt8(ascii: "&")) }
            // Ceph reads a '+' as itself, so a space in the policy must be written as '%20'.
            PercentEncoding.append(parameter, to: &body)
        }
        let request = SignableRequest(
            method: "POST",
            address: BucketAddress(service: endpoint),
            key: "",
            headers: [NamedValue("content-type", "application/x-www-form-urlencoded; charset=utf-8")],
            payload: PayloadHash(of: body)
        )
        let signed = try V4Authorizing(request, vendor: .amazon, key: key, instant: instant, payloadHeader: false)
        return signed.authorizedRequest(body: String(decoding: body, as: UTF8.self))
    }
}
