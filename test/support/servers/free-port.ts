import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import type { Supervisor } from './supervisor.ts'

/** Starts a server on a free port, and returns the port; on the next one when another process was quicker. */
export async function startOnFreePort(supervisor: Supervisor, start: (port: number) => Promise<void>): Promise<number> {
  for (let left = 5; ; left--) {
    const port = await freePort()
    try {
      await start(port)
      return port
    } catch (error) {
      if (left > 0 && supervisor.pid === null && supervisor.log().includes('Address already in use')) continue
      await supervisor.remove()
      throw error
    }
  }
}

/**
 * A free loopback port. It lies below the ports that systems give to outgoing connections: a port from among
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
