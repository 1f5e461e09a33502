/// Public keys and tokens made with joserfc 1.6.5 (Python, on OpenSSL), for audience `sluice`, valid for an hour from
/// 1,900,000,000.
enum IndependentTokens {
    /// A key set with all the keys.
    static let keySet = """
        {"keys":[{"n":"iQwWOKWXBuPb_4vo1lV7YUmsy6B-etaOmbZl2ZPdr8TYlnuRX24unDQs8fIQBPlVaUYPYFg8V_3LY6ZXB\
        POoDfMIBEPuA_9ZlbAHZOYWxhsmR_2RYT18ZhqvsWralyhbDOAvEg4NkOp05WMj8fvk-Abnuzq5RYTKwukA181B0KnnTC29M\
        _WC6SUonJ7RryqdgBy_n12QZwz7-kjHuw8_HD9YVewAWfBOyrC2HQ44d2jCUajNqXvg1nVZtd70roAhLQfqiamZgPbvJDuyp\
        i-iwzvlB-F6xOGKIEpEDTHkzCGgbD3hHKGAPhSh4bRpVpcb_EjfWzmO83BIx5U4ZC3mtw","e":"AQAB","kid":"r1","kt\
        y":"RSA","use":"sig"},{"crv":"P-256","x":"tMbBPUDrNgBsONoGdXSAQS3Ape8dwgqaNaohiZ4geg0","y":"qIBZ\
        bb7BUn97OOXD2xxH_gvRUqHFH9veGF3Jiil2BNw","kid":"P-256","kty":"EC","use":"sig"},{"crv":"P-384","x\
        ":"bl7t0QA5NhSxsOXsp7UFVdu78-4Lc4sKbUCVJvhWFYbQ7_b5l10gPvQcM1cZvBUN","y":"D4VvFiR5C2QVhH9nOzp2hv\
        6NXazmlkkm4yAnh8cdLaZKvw4LV9nBh1Yv72AtMSdz","kid":"P-384","kty":"EC","use":"sig"},{"crv":"P-521"\
        ,"x":"AGd8YoeiQ9YrKNZUAHxmqiGJOAqhF3hMR1jip9B4aK5gEYk57b83LUvZzTk3QaNIyse1OWV7-HY08hln32dwVTN9",\
        "y":"ACwNu9yYD-GH7T2_sYpXa3knGtMwvCQY46wJKI2vgVyeAcpdJsqmA7O1CC2DQOSL1cUPS2Grl7m_o9ffRjeGWpv2","\
        kid":"P-521","kty":"EC","use":"sig"},{"crv":"Ed25519","x":"cEPLkeFx6WN-5dhfR2QcTnhBnVfGxbGQuoEss\
        fSmqLw","kid":"e1","kty":"OKP","use":"sig"}]}
        """

    /// One token per algorithm.
    static let tokens: [String: String] = [
        "RS256": """
        eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiIsImtpZCI6InIxIn0.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQi\
        Olsib3RoZXIiLCJzbHVpY2UiXSwic3ViIjoiYWxpY2UiLCJpYXQiOjE5MDAwMDAwMDAsImV4cCI6MTkwMDAwMzYwMH0.YexV\
        BCyTkJCZxPpdz8jYciLQ33b0WpY9yT0L_dqwyxCUZ-WvsYn4WyTr3k6eiQ0zThbfbQRJlX1au4N9WM6hAQwY4Sxn_VxJvfQ2\
        uHilCrr4wwC3WYlLV5FeH3_tZyFvo4oa3_LdGr0Dc1YuDuOyAa20IRPSZ2Jti5fvL10OINI0ymdsNtmnN4zjXh3HxVzkg4Qd\
        mw5vadNv5eSTVm6GTb9zPSIo5vahjgmdAqj1VyT3qarIbNMGPipoImmmVr2HeOsqC5DAm8CuL4RrmUU7JQVIaMai8GU6BIV7\
        HItZkVDIIGwKNajFjXGhW0fqLb8rAqln_VKYP8Nmszv0_Sf4yA
        """,
        "RS384": """
        eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzM4NCIsImtpZCI6InIxIn0.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQi\
        Olsib3RoZXIiLCJzbHVpY2UiXSwic3ViIjoiYWxpY2UiLCJpYXQiOjE5MDAwMDAwMDAsImV4cCI6MTkwMDAwMzYwMH0.VX3e\
        hPC4aj7DMO-z8SGXNYOI4xKnf0Qljf5jabuBmJ5D68sbGML2bPsf5v-q0Mfakn9AIdTZRA8-lxLJigZIJFB-IuCVrMdZQ9Rw\
        D2wQsGkdIMjsLMZZvR_i4x_14EjhRd3Kyal50zeBF29eFaUCfPBtu_DSUv5uqGhhHOPsr9rEiJ8WXQqVn9DmELeox9D5M9SA\
        0ySOIPNsSgsNDlAEQYngkloJozvfvounPhZ9h8ZgCAu4Zl_PzTRopteZpmZKZXHlMkn8enhcWvqn3lEe8_1c0YWDdGmk1X5w\
        ade32_zRJexSViIzctqRT0yuErVm8sjsJy3dKSgMunIJjmt_1A
        """,
        "RS512": """
        eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzUxMiIsImtpZCI6InIxIn0.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQi\
        Olsib3RoZXIiLCJzbHVpY2UiXSwic3ViIjoiYWxpY2UiLCJpYXQiOjE5MDAwMDAwMDAsImV4cCI6MTkwMDAwMzYwMH0.MYAC\
        triuWQlvSdoGrdAuSdhtpDlQnshBHHF9ebMAnS2EjM79G4knwkC1f9AuPJkw0kbwEYdPvGR7p-81f1JbScc1htyorMNZJ6_Z\
        nCdIVKXgxBqG7HgLd29fQjpYkZPENoT9JO7WbkQfxcwSVI5M2wJJlV7jwQSGieJNnbiLfAGrTHXh7dRIiJdVYGMa0gqBlhhw\
        oFx7q2jKeKV1ByC0Di-aWfN-FZGVadAdW38LWQTRo7oT9dE9iJ_U-vz6j-wxbd2XMfJ92s3LsKLTJ0faDhjc9uVlXyWruTuc\
        rcoDJ1R4xQJepg8oj-75if3B13j4Kf0Dl4C90rbRXr88XYsmgg
        """,
        "PS256": """
        eyJ0eXAiOiJKV1QiLCJhbGciOiJQUzI1NiIsImtpZCI6InIxIn0.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQi\
        Olsib3RoZXIiLCJzbHVpY2UiXSwic3ViIjoiYWxpY2UiLCJpYXQiOjE5MDAwMDAwMDAsImV4cCI6MTkwMDAwMzYwMH0.c-OY\
        A_EmVNyQPziIC50AYYg66swVpWoyXZjjLMBWg78Dawg7p5YgL8YQavbrPZO2oBWE-ksZDl8a-EANmRGy3X48mtW8Od9OphQY\
        TfnRPnUuoCIYiNVEIXoiVU3bDGN7tEQg6IhDoadqahgvRrc5rCZq7EE8zyf_igrP-40f2apPdbCQd_VMJLPfy0vLV8tw7CsL\
        HBbiS_U-XSILdPjuROD17bCmXlLGtE6CzVxE553KXCdP9S6NCy1H8hqZcMbK8_2Ucw2vCnP6wAzoGlf3V-35hX9XNHHBbSIq\
        VZN4q5KWU7I-1S_Zkd-q9Ul7ept63GhlngqsX9rsZihZhxi-yw
        """,
        "PS384": """
        eyJ0eXAiOiJKV1QiLCJhbGciOiJQUzM4NCIsImtpZCI6InIxIn0.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQi\
        Olsib3RoZXIiLCJzbHVpY2UiXSwic3ViIjoiYWxpY2UiLCJpYXQiOjE5MDAwMDAwMDAsImV4cCI6MTkwMDAwMzYwMH0.d2TK\
        ebr-BYDIRjtZaBSLWSeTidOcn6fkQ4gaZ8VaYTpwIBeF6-m0ee4qtGhR5BIj9DwEbgoTm7xIqm96ZQxPR0v0605mVAejAe0P\
        qOCmaZW4eofTPwHjH-FsFmFrEcchKaTXO6czW34kS_vN4Pf14Kx3MWuAxsNKraRefixlFaiTt8HpXR5xECbZ340I4s-EarOR\
        wNAowhnVOGC45RrRldjsWWljcjgpogkMgs2nNRpcIaiHN3_epJ8g_VkEKaX0WsD9u7LudHHadKWiGMK4Z7roeTFvOGA36xSy\
        GEpBesMW8c-obpqSH2QnxsnJKwoovA7UACDGo5CK5iw43X60Sg
        """,
        "PS512": """
        eyJ0eXAiOiJKV1QiLCJhbGciOiJQUzUxMiIsImtpZCI6InIxIn0.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQi\
        Olsib3RoZXIiLCJzbHVpY2UiXSwic3ViIjoiYWxpY2UiLCJpYXQiOjE5MDAwMDAwMDAsImV4cCI6MTkwMDAwMzYwMH0.R47r\
        xdal3YKMKe8b3E7VgiMJspFANoVQfMiEHjr08rsVfhgMQCUaLyhJ1q30UmeGqI7ZEp_mTpVSNJ559-QCN7EuSexb8slKrllA\
        Zn5BSWheR0WuhaI8kEOMrlXqDM4Xf8-mMmE0n3ikOtMYjGAPVCRMViBEmE_bQbAFFB6O9CerC6EV1akKSnKUvVUlmAZxxG87\
        1CnFULRL50mxgcgpWQI5fMIDPupOJ_AKMOBbQtCBvSWlUpkyHXtHTKQMjErMkNmUo7UOpA1L_CIpkgoq0ZuZ5UeXHK1VPaow\
        NCjiowjn5XlO2Zng56xIlBCfBznv0kBwpYAd1iUIn1ehRHVbjw
        """,
        "ES256": """
        eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiIsImtpZCI6IlAtMjU2In0.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJh\
        dWQiOlsib3RoZXIiLCJzbHVpY2UiXSwic3ViIjoiYWxpY2UiLCJpYXQiOjE5MDAwMDAwMDAsImV4cCI6MTkwMDAwMzYwMH0.\
        K-sUH6EEe-ZAcJFFXVVsi1TX8jjhkQ3qsHH1iSKpGin0FRxhwAfCjvAgvyCmKZETlp5_118cfEs7Ee2FU1xaeg
        """,
        "ES384": """
        eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzM4NCIsImtpZCI6IlAtMzg0In0.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJh\
        dWQiOlsib3RoZXIiLCJzbHVpY2UiXSwic3ViIjoiYWxpY2UiLCJpYXQiOjE5MDAwMDAwMDAsImV4cCI6MTkwMDAwMzYwMH0.\
        LLwy8SH_s_Gc_lQfiIUn0JU7WHMMd2asEXoSSQmlE2_W_t8HGTtEf1Sh-czdC8pS-oegfWx56VfYkN64ONm7kqFUQtIMEb8E\
        zAX5swcEzI6gMKTvc1gTYCBgh8axeEuq
        """,
        "ES512": """
        eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzUxMiIsImtpZCI6IlAtNTIxIn0.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJh\
        dWQiOlsib3RoZXIiLCJzbHVpY2UiXSwic3ViIjoiYWxpY2UiLCJpYXQiOjE5MDAwMDAwMDAsImV4cCI6MTkwMDAwMzYwMH0.\
        AA5E_gQOJIhmQizWgourUrPU1Yz_v9TxmVvCDCztusbbTLK28Vx8zu0cbTyQjibMfOJnKEQ4bQt7-yXiTTJNtShUAc6vcSDZ\
        OAQiUxzB_UD9EvdNAKkTqlBkWtQ_LSTNyQ0uEAMMQKgQwLVKiHSWPWpAOVhVaVFTyPe80IvxMzPyUBOn
        """,
        "EdDSA": """
        eyJ0eXAiOiJKV1QiLCJhbGciOiJFZERTQSIsImtpZCI6ImUxIn0.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQi\
        Olsib3RoZXIiLCJzbHVpY2UiXSwic3ViIjoiYWxpY2UiLCJpYXQiOjE5MDAwMDAwMDAsImV4cCI6MTkwMDAwMzYwMH0.x4IB\
        7SmItTmZ8j2PocbkTEXS2nWf3FeUfUbQo-JbtFZykwlIn0Uq3UDWuT9c1YMYz3Ti-7ybXQy7fUxd_GZtDA
        """,
    ]
}
