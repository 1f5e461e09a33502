import TestSupport

/// Signatures of ECDSA that no verifier may take.
enum ECDSAFlaws {
    /// The orders of the curves' groups (FIPS 186-5), without zeros in front.
    private static let orders = [
        "ES256": "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
        "ES384": "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973",
        "ES512": "01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa"
            + "51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409",
    ]

    /// Variants of a right signature, by name.
    static func signatures(_ right: [UInt8], _ algorithm: String) -> [(String, [UInt8])] {
        let half = right.count / 2
        let (r, s) = (Array(right[..<half]), Array(right[half...]))
        let zero = [UInt8](repeating: 0, count: half)
        let order = number(orders[algorithm] ?? "", byteCount: half)
        let largest = [UInt8](repeating: 0xFF, count: half)
        var variants: [(String, [UInt8])] = [
            ("r is zero", zero + s), ("s is zero", r + zero), ("both are zero", zero + zero),
            ("r is the order", order + s), ("s is the order", r + order), ("both are the order", order + order),
            ("r is beyond the order", largest + s), ("s is beyond the order", r + largest),
            ("r is one, s is zero", zero.dropLast() + [1] + zero), ("halves exchanged", s + r),
            ("DER", TokenKey.der(right)), ("DER, filled up", TokenKey.der(right) + zero),
            ("a zero before each half", [0] + r + [0] + s), ("a zero before", [0] + right),
            ("a zero after", right + [0]),
            ("r alone", r), ("twice", right + right),
        ]
        // The same numbers, plus the order, if they have room for it.
        for (name, sum) in [("r", sum(r, order).map { $0 + s }), ("s", sum(s, order).map { r + $0 })] {
            if let sum { variants.append(("\(name) plus the order", sum)) }
        }
        return variants
    }

    private static func number(_ hex: String, byteCount: Int) -> [UInt8] {
        let digits = Array(hex)
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(digits[$0...($0 + 1)]), radix: 16)
        }
        return Array(repeating: 0, count: byteCount - bytes.count) + bytes
    }

    private static func sum(_ left: [UInt8], _ right: [UInt8]) -> [UInt8]? {
        var result: [UInt8] = []
        var carry = 0
        for (left, right) in zip(left.reversed(), right.reversed()) {
            carry += Int(left) + Int(right)
            result.append(UInt8(carry & 0xFF))
            carry >>= 8
        }
        return carry == 0 ? result.reversed() : nil
    }
}
