import HTTPServing
import MicroHTTPD
import Testing

@Suite struct RequestTests {
    @Test func `a request is answered with the bytes of its body`() async throws {
        try await TestServer.with(.echo) { server in
            let response = try await server.client().exchange(
                "POST /a/%2F/../b?q=%20 HTTP/1.1\r\nHost: example:80\r\nX-One: 1 \r\nContent-Length: 5\r\n\r\nhello")
            #expect(response.status == 200)
            #expect(response.text == "POST /a/%2F/../b?q=%20 example:80|x-one=1|hello")
            #expect(response.fields["date"] != nil)
            #expect(response.fields["content-length"] == "47")
        }
    }
}
