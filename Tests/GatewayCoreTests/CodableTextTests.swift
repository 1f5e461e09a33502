import Foundation
import GatewayCore
import Testing

/// Values that are texts in JSON.
@Suite struct CodableTextTests {
    private func check<Value: CodableText & Equatable>(_ value: Value) throws {
        let json = try JSONEncoder().encode([value])
        #expect(try JSONDecoder().decode([String].self, from: json) == [value.rawValue])
        #expect(try JSONDecoder().decode([Value].self, from: json) == [value])
    }

    @Test func `a value is written as its text and read from it`() throws {
        try check(Principal("user:alice"))
        try check(PrincipalPattern("user:a*"))
        try check(BucketName("demo-bucket"))
        try check(ExactText("any/text"))
    }

    @Test func `a text of another form is refused`() {
        let json = Data(#"["no"]"#.utf8)
        #expect(throws: GatewayError.self) { try JSONDecoder().decode([Principal].self, from: json) }
        #expect(throws: GatewayError.self) { try JSONDecoder().decode([PrincipalPattern].self, from: json) }
        #expect(throws: GatewayError.self) { try JSONDecoder().decode([BucketName].self, from: json) }
    }
}
