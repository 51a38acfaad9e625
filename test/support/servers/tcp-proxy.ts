import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from './free-port.ts'

/** Stands between clients and a server, and breaks the line between them in the ways that networks do. */
export class TcpProxy implements AsyncDisposable {
  /** The server's URL, with the proxy between. */
  readonly url: string
  readonly #server: Server
  readonly #port: number
  readonly #defaultPort: number
  #target: { readonly host: string; readonly port: number }
  readonly #links = new Set<Link>()
  #line: Line = { state: 'whole' }

  static async start(server: { readonly url: string }, defaultPort = 5432): Promise<TcpProxy> {
    const proxy = new TcpProxy(server.url, defaultPort, await freePort())
    await proxy.#listen()
    return proxy
  }

  private constructor(url: string, defaultPort: number, port: number) {
    this.#defaultPort = defaultPort
    this.#target = this.#targetOf(url)
    const through = new URL(url)
    through.host = `127.0.0.1:${port}`
    this.url = through.href
    this.#port = port
    this.#server = createServer({ allowHalfOpen: true }, (client) => {
      const server = connect({ ...this.#target, allowHalfOpen: true })
      const link = new Link(client, server, () => this.#line)
      this.#links.add(link)
      link.onClose(() => this.#links.delete(link))
    })
  }

  /** How many clients are connected. */
  get connections(): number {
    return this.#links.size
  }

  /** Whether a connected client has missed a reply. */
  get hasDropped(): boolean {
    return [...this.#links].some((link) => link.hasHoles)
  }

  /** Ends all connections, and refuses new ones until it is healed. */
  async cut(): Promise<void> {
    this.#change({ state: 'cut' })
    for (const link of this.#links) link.destroy()
    if (this.#server.listening) await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  /** Keeps connections, and takes new ones, but passes nothing; what was sent meanwhile arrives when it is healed. */
  stall(): void {
    this.#change({ state: 'stalled', healed: Promise.withResolvers() })
  }

  /** Passes requests, and throws the replies away. Connections that missed one are ended when it is healed. */
  dropReplies(): void {
    this.#change({ state: 'no replies' })
  }

  /**
   * Passes the next request that holds `text`, throws the reply away once it is there, and ends that connection: the
   * server has done what the client cannot know of. Resolves then. Other connections go on.
   */
  loseReplyTo(text: string): Promise<void> {
    const lost = Promise.withResolvers<void>()
    this.#change({ state: 'losing', text, isFound: false, lost: lost.resolve })
    return lost.promise
  }

  /** Passes so many more bytes of requests, and then cuts, be it in the midst of one. Resolves then. */
  cutAfterBytes(bytes: number): Promise<void> {
    const over = Promise.withResolvers<void>()
    this.#change({ state: 'ending', left: bytes, over: () => void this.cut().then(over.resolve) })
    return over.promise
  }

  /** Leads new connections to another server, as after a failover; those that stand stay where they are. */
  leadTo(server: { readonly url: string }): void {
    this.#target = this.#targetOf(server.url)
  }

  async heal(): Promise<void> {
    for (const link of this.#links) if (link.hasHoles) link.destroy()
    this.#change({ state: 'whole' })
    if (!this.#server.listening) await this.#listen()
  }

  async close(): Promise<void> {
    await this.cut()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #targetOf(url: string): { readonly host: string; readonly port: number } {
    const { hostname, port } = new URL(url)
    return { host: hostname, port: Number(port) || this.#defaultPort }
  }

  #change(line: Line): void {
    const before = this.#line
    this.#line = line
    if (before.state === 'stalled') before.healed.resolve()
  }

  #listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(this.#port, '127.0.0.1', () => {
        this.#server.off('error', reject)
        resolve()
      })
    })
  }
}

type Line =
  | { readonly state: 'whole' | 'cut' | 'no replies' }
  | { readonly state: 'stalled'; readonly healed: PromiseWithResolvers<void> }
  | { readonly state: 'losing'; readonly text: string; isFound: boolean; readonly lost: () => void }
  | { readonly state: 'ending'; left: number; readonly over: () => void }

/** One client's connection, and ours to the server on its behalf. */
class Link {
  /** Whether the client has missed some of the replies. */
  hasHoles = false
  readonly #client: Socket
  readonly #server: Socket
  readonly #line: () => Line
  /** Called when the reply that this connection is to lose is there. */
  #lost: (() => void) | null = null
  #lastText = ''

  constructor(client: Socket, server: Socket, line: () => Line) {
    this.#client = client
    this.#server = server
    this.#line = line
    void this.#pump(client, server, (chunk) => this.#passRequest(chunk))
    void this.#pump(server, client, (chunk) => this.#passReply(chunk))
    for (const socket of [client, server]) {
      // An error is followed by the close, and the other side needs to know no more than that.
      socket.on('error', () => {})
      socket.on('close', () => this.destroy())
    }
  }

  onClose(closed: () => void): void {
    this.#client.once('close', closed)
  }

  destroy(): void {
    this.#client.destroy()
    this.#server.destroy()
  }

  async #pump(from: Socket, to: Socket, pass: (chunk: Buffer) => Promise<void>): Promise<void> {
    try {
      for await (const chunk of from.iterator({ destroyOnReturn: false })) await pass(chunk)
      to.end()
    } catch {
      this.destroy()
    }
  }

  async #passRequest(chunk: Buffer): Promise<void> {
    const line = await this.#unstalled()
    if (line.state === 'losing' && !line.isFound && this.#holds(chunk, line.text)) {
      line.isFound = true
      this.#lost = line.lost
    }
    const passed = line.state === 'ending' ? chunk.subarray(0, line.left) : chunk
    await write(this.#server, passed)
    if (line.state !== 'ending') return
    line.left -= passed.length
    if (line.left === 0) line.over()
  }

  async #passReply(chunk: Buffer): Promise<void> {
    const line = await this.#unstalled()
    if (line.state !== 'no replies' && this.#lost === null) return write(this.#client, chunk)
    this.hasHoles = true
    if (this.#lost === null) return
    this.destroy()
    this.#lost()
  }

  async #unstalled(): Promise<Line> {
    for (let line = this.#line(); ; line = this.#line()) {
      if (line.state !== 'stalled') return line
      await line.healed.promise
    }
  }

  /** Whether the text is in what the client has sent, even when it came in two parts. */
  #holds(chunk: Buffer, text: string): boolean {
    const all = this.#lastText + chunk.toString('latin1')
    this.#lastText = all.slice(1 - text.length)
    return all.includes(text)
  }
}

function write(socket: Socket, chunk: Buffer): Promise<void> {
  return new Promise((resolve, reject) => socket.write(chunk, (error) => (error ? reject(error) : resolve())))
}
