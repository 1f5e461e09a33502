// LibPQ
