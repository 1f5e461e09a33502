// MicroHTTPDTests
