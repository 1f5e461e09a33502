import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

extension ServerResponse {
    /// Makes the answer to a batch: for each item, in order, the URL or the problem. Its status is 200 even where all
    /// items are refused.
    ///
    /// - Parameters:
    ///   - answers: What each item got.
    ///   - request: The request for the batch.
    ///   - metrics: Counts the items that were not served.
    ///   - label: Writes the members that say which item a URL is for, given its place.
    static func batch(
        _ answers: [Result<IssuedURL, GatewayError>], to request: APIRequest, countedBy metrics: RequestMetrics,
        _ label: (_ json: inout JSONWriter, _ place: Int) -> Void = { _, _ in }
    ) -> ServerResponse {
        request.noteItems(answers, countedBy: metrics)
        var response = ServerResponse.json(.ok, capacity: 64 + 768 * answers.count) { json in
            json.array("results", answers.indices) { json, place in
                switch answers[place] {
                case .success(let issued):
                    json.object { json in
                        label(&json, place)
                        issued.write(to: &json)
                    }
                case .failure(let error): request.problem(for: error).write(to: &json, requestID: request.id)
                }
            }
        }
        response.setRateLimit(ofBatch: answers)
        return response
    }
}
