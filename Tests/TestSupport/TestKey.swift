/// A private RSA key of 2,048 bits, made for tests.
public enum TestKey {
    /// The key in PKCS #8, as PEM.
    public static let pem = """
        -----BEGIN PRIVATE KEY-----
        MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDoxI7qsA5r3EBC
        tPMOqwlzKph10iBu27T9Z5IyWa7FWebOcLWnGXd3NYrz8eUOYSD4z9mnIyjp8nT9
        +/TYQE/zQVjkSbdQPhG+vjpmb2ozzceDuhkiAaHslSKSEjnoE5gJgA+Ad+IilpVV
        jUIY2GPSZjFHOEnd0Le6JPzJurIC43CLh3DoC/Rdr8Owy+Zle2YlKKmVLb5Mx2WE
        C5pUsRBxkdjsKiR9otdHSLtSbPqWAGzSROk4UkfTe5kZQnNV0OXdN+nwGSaLPGD5
        9hYOPh77C18+IJkRYEehNS2wEDtjk9MlFK0F/xMJokFQbrwZgI/27NCpmLr0lG4z
        gFJzrM2jAgMBAAECggEAA9izr+cm5dtm6HNLDPQAnPmYOWI2jP5ueD2M6e4XeEVr
        DgBI0DEYi0zENhHKQjmSrOnqY9ut4mfSTRwryKMPbyqmSGd7cwUDkA5esrCmpaKB
        6Ihbv/cc8ObqAlXwxQgF3CpUlz/j6cRpRVenPvfcdm6f49hnSBYZ4yaXUtIV/Pwz
        HiheLyUqGNTeJe8/tHlPzTLTVYN5Fo3jFGWpZIZUxiJNLh1VcxfNd9+/sZU+E5/T
        HlSi0rCESSA157dX3rf2C6bIroyKMYUOUjfOvr2VbB+NF1YlNihFETL+Dkn9+skn
        Wa6aj0HMB0p4GWk1krSnv9XRJ3N0+brpav84Xd6e4QKBgQD9Mw2cDGXpsfwIZUFl
        Jzqse7FiOkzoqB08T9UgSjPsD4K3ofYmOdGuKPXLK0pCkt7Q0mhP8kaWPrIdlN4g
        Q53X/mA4ZAA0lJzI7GHEDHXZX8/g3K1QxfYF62N2A9iZHpLER4PrniBoMbEpYHxE
        3DYMcLM0+C0PODBA7TYibXCrMwKBgQDrV6bmOpdUL5xVsr7Ug76moYRj4HqTc0Re
        FgRp7EwkCWYLNUe3P/mvdX8+UP1zfk8OIm5ovRnh4yXmYOBJIOUaugHtRdcOUKAa
        tOgB+xYApw7EYDZnMFqaPfXSyjnvJUwx43xeobLelw5P/OAIKSUO33Flf6LiDyau
        1SYr/BLT0QKBgD1q2d1FYJ8sTj9XGGLJ/kCCjIeQLsGsrdLIZqE7fpa/OG0Eu2mQ
        Ut1VEDIlIRE/AQ9USntCAH9HW/sy9iKLZElVac+j6izW86UFOb3Na/S7efhIbz4N
        ltzeuTSSQEL8GIvF8SkBJUlA7IFl5x7o769a0w2BOaTcc0/8ekolk9PjAoGAYZMB
        28rHG1xyEQX/INVOon+tCEv2BlRwMCIoylHyb66F5He+uDeKKjko/IlPzCa+WDnm
        VP6yUHmBKTdZRnihBKfCTMH8HC9Jckk3ODsGMFcTRFAvvjDKH9E4rqCxzHlGUhjj
        Y8jfBHLUuE08BaYpezUhKtf0jI2DmFE/dlUY6UECgYEA0ifJ1dV41h6PjD/e4PR/
        gN6/wK27aldqWbeuhVp6MDrSub4LKDtJguvAXzH5aG57zcs0Qb22g5DmfBiLsbS8
        U4zZO+hgd1LFT5oD7qW21r9hxEEnFkHpsxo+TEo9nef9cqhZj4Iw7p9XeUrzrUgJ
        75IKda4uRjWiOqr680rCtjc=
        -----END PRIVATE KEY-----
        """
}
