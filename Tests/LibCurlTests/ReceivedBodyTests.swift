import LibCurl
import Testing

@Suite struct ReceivedBodyTests {
    @Test func `a body is kept up to its limit, and tells when more arrived`() {
        let body = ReceivedBody(atMost: 3)
        #expect(body.append([1]) && body.append([2, 3]) && !body.isTooLong)
        #expect(!body.append([4]) && body.isTooLong && body.bytes == [1, 2, 3])
    }
}
