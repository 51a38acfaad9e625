import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Charge {
  readonly id: number
  readonly order: string
  readonly idempotencyKey: string
}

/** When the process that charges is killed: before the charge is booked, after it, after its answer was sent, or so many ms later. */
export type KillPoint = 'before' | 'booked' | 'answered' | number | null

/** A bank that books every charge, and drops no duplicate. */
export class FakeBank {
  readonly charges: Charge[] = []
  readonly #killed = new Set<number>()
  readonly #nextKill: () => KillPoint
  readonly #server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', 'http://bank')
    if (url.pathname === '/find') {
      const found = this.charges.find(({ idempotencyKey }) => idempotencyKey === url.searchParams.get('key'))
      return response.end(JSON.stringify(found ? { happened: true, result: { id: found.id } } : { happened: false }))
    }
    const { order, idempotencyKey, pid } = JSON.parse(await textOf(request)) as Omit<Charge, 'id'> & { pid: number }
    const kill = this.#nextKill()
    if (kill === 'before') return this.#kill(pid)
    const charge = { id: this.charges.length + 1, order, idempotencyKey }
    this.charges.push(charge)
    if (kill === 'booked') return this.#kill(pid)
    if (typeof kill === 'number') setTimeout(() => this.#kill(pid), kill)
    response.end(JSON.stringify({ id: charge.id }), () => kill === 'answered' && this.#kill(pid))
  })

  constructor(nextKill: () => KillPoint) {
    this.#nextKill = nextKill
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  get kills(): number {
    return this.#killed.size
  }

  /** A process may have several charges under way: it is killed once. */
  #kill(pid: number): void {
    if (this.#killed.has(pid)) return
    this.#killed.add(pid)
    process.kill(pid, 'SIGKILL')
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of request) text += String(part)
  return text
}
