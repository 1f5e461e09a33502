// PostgresTesting
