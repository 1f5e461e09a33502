import ContractTesting
import HTTPTesting

extension RawRequest {
    /// The request and an answer of a gateway, for a check against the contract.
    func exchange(_ answer: RawResponse) -> Exchange {
        Exchange(
            method, target, sent: body, sentType: headers.first { $0.name.lowercased() == "content-type" }?.value,
            status: answer.status, headers: answer.headers, body: answer.body)
    }
}
