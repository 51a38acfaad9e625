import { startOnFreePort } from './free-port.ts'
import { pgbouncer, programsOf } from './needed.ts'
import { queryOnce } from './query-once.ts'
import { noteUse } from './run-servers.ts'
import { Supervisor } from './supervisor.ts'

export interface PgbouncerOptions {
  readonly poolMode?: 'session' | 'transaction' | 'statement'
  /** Connections to PostgreSQL for each database and user. */
  readonly poolSize?: number
  /** More of pgbouncer's own settings, as in pgbouncer.ini. */
  readonly settings?: Readonly<Record<string, string | number>>
}

export interface Pgbouncer extends AsyncDisposable {
  /** As the server's own URL, with pgbouncer between. */
  readonly url: string
  readonly version: string
  stop(): Promise<void>
}

/** Starts a pgbouncer in front of a PostgreSQL: a test server, one behind a proxy, or any other with a URL. */
export async function startPgbouncer(server: { readonly url: string }, options: PgbouncerOptions = {}): Promise<Pgbouncer> {
  const program = programsOf(pgbouncer)
  const supervisor = await Supervisor.start('pgbouncer', 'SIGINT')
  const { username, password } = new URL(server.url)
  const users = supervisor.write('users', `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`)
  let version = ''
  const port = await startOnFreePort(supervisor, async (port) => {
    await supervisor.start(program, [supervisor.write('pgbouncer.ini', configure(server.url, users, port, options))])
    const [row] = await supervisor.ready(() =>
      queryOnce<{ version: string }>(through(server.url, port, 'pgbouncer'), 'SHOW VERSION'),
    )
    version = row?.version.replace(/^PgBouncer /, '') ?? ''
  })
  await noteUse(pgbouncer, version)
  const stop = () => supervisor.remove()
  return { url: through(server.url, port), version, stop, [Symbol.asyncDispose]: stop }
}

function through(url: string, port: number, database?: string): string {
  const other = new URL(url)
  other.host = `127.0.0.1:${port}`
  if (database !== undefined) other.pathname = `/${database}`
  return other.href
}

function configure(url: string, users: string, port: number, options: PgbouncerOptions): string {
  const { hostname, port: serverPort, username } = new URL(url)
  const { poolMode = 'transaction', poolSize = 10, settings = {} } = options
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: users,
    admin_users: decodeURIComponent(username),
    pool_mode: poolMode,
    default_pool_size: poolSize,
    max_client_conn: 500,
    ...settings,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`)
  return ['[databases]', `* = host=${hostname} port=${serverPort || 5432}`, '[pgbouncer]', ...lines, ''].join('\n')
}
