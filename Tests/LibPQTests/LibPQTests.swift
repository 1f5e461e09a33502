// LibPQTests
