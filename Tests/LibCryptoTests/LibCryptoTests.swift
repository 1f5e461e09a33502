// LibCryptoTests
