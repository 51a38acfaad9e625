import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * A loopback port nobody listens on. It lies below the ports that systems give to outgoing connections: a port from among
 * those could be taken while its server restarts, even by a client that tries to reach it and so connects to itself.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
