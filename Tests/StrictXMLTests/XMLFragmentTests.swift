import StrictXML
import Testing

@Suite struct XMLFragmentTests {
    private func code(_ text: String) -> String? { XMLFragment.text(of: "Code", in: Array(text.utf8)) }

    @Test(arguments: [
        ("<?xml version='1.0'?><Error><Code>NoSuchKey</Code><Message>gone</Message></Error>", "NoSuchKey"),
        ("<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>", "AccessDenied"),
        ("<Error><Code>SlowDown</Code><Mess", "SlowDown"),
        ("<Error><Code>First</Code><Code>Second</Code></Error>", "First"),
        ("<Code>a &amp; <b>c</b></Code>", "a &amp; <b>c</b>"), ("<Code></Code>", ""),
    ])
    func `the first text of a name is found in what may be cut off, as it is written`(text: String, found: String) {
        #expect(code(text) == found)
    }

    @Test(arguments: [
        "", "<html>", "Code", "<Error><Code>NoSuch", "<code>a</code>", "<s3:Code>a</s3:Code>", "<Code a='1'>b</Code>",
        "</Code><Code>",
    ])
    func `what is not between the two tags is not found`(text: String) {
        #expect(code(text) == nil)
    }

    @Test func `bytes that are not UTF-8 hide nothing else`() {
        let bytes: [UInt8] = [0xff] + Array("<Code>a</Code>".utf8)
        #expect(XMLFragment.text(of: "Code", in: bytes) == "a")
        #expect(XMLFragment.text(of: "Code", in: bytes.prefix(10)) == nil)
    }
}
