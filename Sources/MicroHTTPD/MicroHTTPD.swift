// MicroHTTPD
