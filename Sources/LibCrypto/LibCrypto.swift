// LibCrypto
