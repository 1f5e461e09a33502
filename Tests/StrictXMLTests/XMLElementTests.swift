import StrictXML
import Testing

@Suite struct XMLElementTests {
    private func read(_ text: String) -> XMLElement? { XMLElement.read(Array(text.utf8)) }

    @Test func anAnswerIsReadWithItsNamesTextsAndReferences() throws {
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>

            <s3:InitiateMultipartUploadResult xmlns:s3='http://s3.amazonaws.com/doc/2006-03-01/' a = "&lt;">
              <Bucket>photos</Bucket>
              <Key>a &amp; b&#x20AC;&#228;&quot;&apos;&lt;&gt;</Key><Empty/><UploadId>VXBs\u{e4}=</UploadId >
            </s3:InitiateMultipartUploadResult>
            """
        for document in [text, "\u{feff}" + text, " \n " + text + "\n "] {
            let root = try #require(read(document))
            #expect(root.name == "InitiateMultipartUploadResult")
            #expect(root.text("Key") == "a & b\u{20ac}\u{e4}\"'<>")
            #expect(root.text("UploadId") == "VXBs\u{e4}=" && root.text("Empty") == "" && root.text("None") == nil)
            #expect(root.children.map(\.name) == ["Bucket", "Key", "Empty", "UploadId"] && root.text.isEmpty)
        }
        #expect(read("<a><b>1</b><b>2</b></a>")?.text("b") == nil)
        #expect(read("<a> spaces stay </a>")?.text == " spaces stay ")
    }

    @Test(arguments: [
        "", " ", "text", "<", "<a", "<a>", "<a></b>", "<a></a", "<a/><b/>", "<a/>x", "<a></a></a>", "< a/>", "<1/>",
        "<a b/>",
        "<a b=c/>", "<a b='<'/>", "<a b='1'", "<a b=\"1'/>", "<a>&unknown;</a>", "<a>&amp</a>", "<a>&#0;</a>",
        "<a>&#x110000;</a>", "<a>&#xD800;</a>", "<a>&#-1;</a>", "<a>&#+65;</a>", "<a>&;</a>", "<a><!-- c --></a>",
        "<a><![CDATA[x]]></a>", "<?xml version='1.0'><a/>", "<?php ?><a/>", "<a><?pi ?></a>",
        "<!DOCTYPE a><a/>",
        "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>",
        "<?xml version='1.0'?><!DOCTYPE l [<!ENTITY l 'l'><!ENTITY m '&l;&l;&l;'>]><l>&m;</l>",
        String(repeating: "<a>", count: 9) + String(repeating: "</a>", count: 9),
    ])
    func anythingElseIsNone(text: String) {
        #expect(read(text) == nil)
    }

    @Test func depthTakesNoStack() {
        #expect(read(String(repeating: "<a>", count: 1_000_000)) == nil)
    }

    @Test func bytesThatAreNotUTF8AreNone() {
        #expect(XMLElement.read(Array("<a>".utf8) + [0xff] + Array("</a>".utf8)) == nil)
    }

    @Test func whatIsCutOffAnywhereIsNone() {
        let whole = Array("<?xml version='1.0'?><a b='1'><c>x&amp;y</c><d/></a>".utf8)
        #expect(XMLElement.read(whole) != nil)
        for count in 0..<whole.count { #expect(XMLElement.read(Array(whole.prefix(count))) == nil, "\(count)") }
    }

    @Test func bytesAtRandomNeverTrap() {
        let alphabet = Array("<>&;/?!='\" ax1:#[]".utf8)
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...24)).compactMap { _ in alphabet.randomElement(using: &generator) }
            _ = XMLElement.read(Array("<a>".utf8) + bytes + Array("</a>".utf8))
            _ = XMLElement.read(bytes)
        }
    }
}
