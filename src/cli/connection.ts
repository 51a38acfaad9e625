// The way of a command to the operations: a store in this process, or a server with a token.
import { PunctualError } from '../errors.ts'
import type { LocalCalls } from '../http/local-calls.ts'
import type { OperationName, WireOutput } from '../http/wire.ts'
import type { RemoteParts } from '../http-client/remote.ts'
import { authorOf } from './author.ts'

/** The flags that name a store or a server. */
export interface ConnectionFlags {
  readonly store?: string
  readonly server?: string
  readonly token?: string
  readonly by?: string
}

type Calls = Parameters<LocalCalls['call']>[0]

/** Calls operations by their names. */
export interface Connection {
  call<Name extends OperationName>(name: Name, parts?: RemoteParts): Promise<WireOutput<Name>>
  /** The answer of an export, as a stream. */
  stream(name: OperationName, parts?: RemoteParts): Promise<Response>
}

/** Gives `use` the operations of a store or server, and closes the store afterwards. */
export async function withConnection<Value>(
  flags: ConnectionFlags,
  use: (connection: Connection) => Promise<Value>,
): Promise<Value> {
  // Loaded by the commands that need it: a server takes no store and no engine, and help takes neither.
  if (flags.server !== undefined) return use(await serverConnection(flags.server, flags))
  const [{ createPunctual }, { openSharedStoreUrl }, { LocalCalls }] = await Promise.all([
    import('../client/punctual.ts'),
    import('./store-url.ts'),
    import('../http/local-calls.ts'),
  ])
  const punctual = createPunctual({ store: await openSharedStoreUrl(flags.store as string) })
  try {
    const local = new LocalCalls(punctual, authorOf(flags.by))
    const call = (name: OperationName, parts: RemoteParts = {}) => local.call(name as Calls, parts)
    return await use({
      call: <Name extends OperationName>(name: Name, parts?: RemoteParts) => call(name, parts) as Promise<WireOutput<Name>>,
      stream: (name, parts) => call(name, parts) as Promise<Response>,
    })
  } finally {
    await punctual.close()
  }
}

async function serverConnection(url: string, { token, by }: ConnectionFlags): Promise<Connection> {
  if (by !== undefined)
    throw new PunctualError('config.invalid', '--by goes with --store; a server records the name of the token', { field: 'by' })
  const { createRemote } = await import('../http-client/remote.ts')
  const remote = createRemote(serverUrl(url), { token })
  return {
    call: <Name extends OperationName>(name: Name, parts: RemoteParts = {}) =>
      remote.send(name, parts).then((response) => response.json() as Promise<WireOutput<Name>>),
    stream: (name, parts) => remote.send(name, parts),
  }
}

/** The address is checked here; it is not repeated, since it may hold a password. */
function serverUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return url
  throw new PunctualError('config.invalid', 'The server must be a URL such as https://jobs.example/, without a user in it', {
    field: 'server',
  })
}
